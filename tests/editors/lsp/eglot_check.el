;;; eglot_check.el --- what Eglot makes of `rldb lsp'  -*- lexical-binding: t; -*-

;; emacs --batch -q -L editors/emacs -l eglot_check.el MODULE, with RLDB_PROGRAM in the environment. The last line is
;; `N passed, N failed'.

;;; Code:

(require 'rldb)
(require 'flymake)
(defvar passed 0)
(defvar failed 0)
(defun check (what good &optional seen)
  (if good (setq passed (1+ passed))
    (setq failed (1+ failed))
    (message "failed: %s: %S" what seen)))
(defun wait-for (condition)
  (let ((until (+ (float-time) 20)) good)
    (while (and (not (setq good (funcall condition))) (< (float-time) until))
      (accept-process-output nil 0.05))
    good))
(defun at (text)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))
(defun problems () (flymake-start) (flymake-diagnostics))

(defun run-checks (file)
  (setq rldb-program (getenv "RLDB_PROGRAM")
        eglot-sync-connect 20
        eglot-confirm-server-initiated-edits nil
        make-backup-files nil)
  (find-file file)
  (check "the mode is that of TVMScript" (eq major-mode 'tvmscript-mode) major-mode)
  (apply #'eglot (eglot--guess-contact))
  (check "the server is managed" (wait-for (lambda () (eglot-managed-p))))

  (at "R.multiply")
  (delete-char (length "R.multiply"))
  (insert "R.multipli")
  (eglot--signal-textDocument/didChange)
  (check "an error is shown" (wait-for #'problems) (flymake-diagnostics))
  (check "with its message"
         (and (problems) (string-match-p "R\\.multipli" (flymake-diagnostic-text (car (problems)))))
         (mapcar #'flymake-diagnostic-text (problems)))
  (at "R.multipli")
  (delete-char (length "R.multipli"))
  (insert "R.multiply")
  (eglot--signal-textDocument/didChange)
  (check "it goes when the text is right" (wait-for (lambda () (null (problems)))) (problems))

  (at "second = ")
  (let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
    (check "a hover says the type" (string-match-p "R\\.Tensor((3, 4)" (format "%S" hover)) hover))

  (at "R.multiply(first")
  (delete-char (length "R.multiply(first, x)"))
  (insert "R.mul")
  (eglot--signal-textDocument/didChange)
  (let* ((capf (eglot-completion-at-point))
         (names (all-completions "R.mul" (nth 2 capf))))
    (check "operators are completed" (seq-some (lambda (n) (string-match-p "R\\.multiply" n)) names) names))
  (insert "tiply(first, x)")
  (eglot--signal-textDocument/didChange)

  (at "first = ")
  (eglot-rename "sum")
  (check "a name is renamed"
         (wait-for (lambda () (string-match-p "sum = R\\.add(x, x)\n *second = R\\.multiply(sum, x)" (buffer-string))))
         (buffer-string))
  (at "sum = ")
  (check "a clash is refused" (condition-case error (progn (eglot-rename "x") nil)
                                (error (string-match-p "another meaning" (format "%S" error)))))
  (at "return second")
  (forward-word)
  (forward-char)
  (let ((found (xref-backend-definitions 'eglot "LSP identifier at point.")))
    (check "the definition is found" (and found (= (xref-location-line (xref-item-location (car found))) 12)) found))
  (rldb-pass "LegalizeOps")
  (check "the module after a pass is shown" (string-match-p "call_tir" (buffer-string)) (buffer-name))
  (find-file file)
  (eglot-shutdown (eglot-current-server))
  (check "the server ends" (not (eglot-current-server)))
  (set-buffer-modified-p nil))

(condition-case error (run-checks (car command-line-args-left))
  (error (check "the script runs" nil error)))
(setq command-line-args-left nil)
(message "%d passed, %d failed" passed failed)
(kill-emacs 0)
;;; eglot_check.el ends here
