;;; rldb.el --- TVMScript and Relay with rldb as language server  -*- lexical-binding: t; -*-

;; (add-to-list 'load-path "/path/to/rldb/editors/emacs")
;; (require 'rldb)
;;
;; Needs Eglot 1.9 or newer (package eglot, or Emacs 29).  Python files that contain TVMScript get `tvmscript-mode',
;; files that end in .relay or .rly `relay-mode'; M-x eglot starts the server, or with
;;
;; (add-hook 'tvmscript-mode-hook #'eglot-ensure)
;; (add-hook 'relay-mode-hook #'eglot-ensure)
;;
;; each such file does.  Commands: `rldb-run', `rldb-pass', `rldb-lower', `rldb-kernel'.

;;; Code:

(require 'eglot)
(require 'python)

(defgroup rldb nil "TVMScript and Relay with rldb." :group 'languages)
(defcustom rldb-program "rldb" "The program." :type 'string)
(defcustom rldb-passes "" "A pipeline for texts that name none: its diagnostics are shown." :type 'string)

(defvar rldb-decorators
  (regexp-opt '("@I.ir_module" "@tvm.script.ir_module" "@R.function" "@R.func" "@T.prim_func"))
  "Text by which TVMScript is recognised.")

(defun rldb-script-p ()
  "Whether the buffer is a Python file with TVMScript."
  (and buffer-file-name
       (string-suffix-p ".py" buffer-file-name)
       (save-excursion (goto-char (point-min)) (re-search-forward rldb-decorators nil t))))

;;;###autoload
(define-derived-mode tvmscript-mode python-mode "TVMScript" "Python that contains TVMScript.")
;;;###autoload
(define-derived-mode relay-mode prog-mode "Relay"
  "Relay text."
  (setq-local comment-start "// ")
  (setq-local comment-start-skip "//+ *"))

(add-to-list 'magic-mode-alist '(rldb-script-p . tvmscript-mode))
(add-to-list 'auto-mode-alist '("\\.\\(?:relay\\|rly\\)\\'" . relay-mode))

(defclass rldb-server (eglot-lsp-server) () :documentation "The server `rldb lsp'.")
(cl-defmethod eglot-initialization-options ((_server rldb-server))
  (list :showsResults t :passes rldb-passes))

(defun rldb-contact (&optional _interactive)
  "How Eglot starts the server."
  (list 'rldb-server rldb-program "lsp"))
(add-to-list 'eglot-server-programs '((tvmscript-mode relay-mode) . rldb-contact))

(defun rldb--execute (command &rest arguments)
  "Ask the server to execute COMMAND about this buffer with ARGUMENTS, and show the result."
  (let* ((uri (plist-get (eglot--TextDocumentIdentifier) :uri))
         (result (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                                  (list :command command :arguments (vconcat (cons uri arguments)))))
         (buffer (get-buffer-create (format "*rldb: %s*" (plist-get result :title)))))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (or (plist-get result :after) (plist-get result :text))))
      (unless (equal (plist-get result :languageId) "plaintext") (python-mode))
      (goto-char (point-min))
      (view-mode))
    (pop-to-buffer buffer)))

(defun rldb-run (function)
  "Run FUNCTION of the buffer; hovers show its values afterwards."
  (interactive (list (read-string "Function: " "main")))
  (rldb--execute "rldb.run" function))
(defun rldb-pass (passes)
  "Show the module after PASSES."
  (interactive "sPasses: ")
  (rldb--execute "rldb.pass" passes))
(defun rldb-lower ()
  "Show the module after the minimum build."
  (interactive)
  (rldb--execute "rldb.lower"))
(defun rldb-kernel (name form)
  "Show the kernel NAME as FORM: tir, llvm or asm."
  (interactive (list (read-string "Kernel: ") (completing-read "Form: " '("tir" "llvm" "asm") nil t nil nil "llvm")))
  (rldb--execute "rldb.kernel" name form))

(provide 'rldb)
;;; rldb.el ends here
