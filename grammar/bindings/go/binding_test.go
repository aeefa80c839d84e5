package tree_sitter_tvmscript_test

import (
	"testing"

	tree_sitter "github.com/smacker/go-tree-sitter"
	"github.com/tree-sitter/tree-sitter-tvmscript"
)

func TestCanLoadGrammar(t *testing.T) {
	language := tree_sitter.NewLanguage(tree_sitter_tvmscript.Language())
	if language == nil {
		t.Errorf("Error loading Tvmscript grammar")
	}
}
