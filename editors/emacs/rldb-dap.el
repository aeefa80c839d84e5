;;; rldb-dap.el --- Debugging Relax with rldb and dap-mode  -*- lexical-binding: t; -*-

;; (add-to-list 'load-path "/path/to/rldb/editors/emacs")
;; (require 'rldb-dap)
;;
;; Needs dap-mode 0.7 or newer.  M-x dap-debug offers "rldb: run this file"; M-x dap-breakpoint-toggle sets breakpoints.
;; Besides dap-mode's own commands: `rldb-step-back', `rldb-reverse-continue', `rldb-console' (any entry of rldb's prompt).

;;; Code:

(require 'dap-mode)
(require 'dap-ui)  ; dap-mode 0.7 itself needs a variable of it

(defcustom rldb-dap-program "rldb" "The program." :type 'string :group 'dap-mode)

(defun rldb-dap--configuration (conf)
  "CONF with what it leaves out: the file of this buffer is run."
  (let ((put (lambda (key value) (setq conf (dap--put-if-absent conf key value)))))
    (funcall put :dap-server-path (list rldb-dap-program "dap"))
    (funcall put :type "rldb")
    (funcall put :request "launch")
    (funcall put :name "rldb")
    (unless (plist-get conf :program) (setq conf (plist-put conf :program (buffer-file-name))))
    conf))

(dap-register-debug-provider "rldb" #'rldb-dap--configuration)
(dap-register-debug-template "rldb: run this file" (list :type "rldb" :request "launch" :name "rldb: run this file"))

(defun rldb-step-back ()
  "Step back over a binding, or over a statement of a kernel."
  (interactive)
  (dap--step "stepBack" (dap--cur-session-or-die)))

(defun rldb-reverse-continue ()
  "Run backward to the previous stop."
  (interactive)
  (dap--step "reverseContinue" (dap--cur-session-or-die)))

(defun rldb-console (entry)
  "Execute ENTRY, an entry of rldb's prompt; what it prints is in the buffer of the session's output."
  (interactive "srldb: ")
  (let* ((session (dap--cur-session-or-die))
         (frame (dap--debug-session-active-frame session)))
    (dap--send-message
     (dap--make-request "evaluate" (append (list :expression entry :context "repl")
                                           (when frame (list :frameId (gethash "id" frame)))))
     (lambda (reply)
       (if (gethash "success" reply)
           (message "%s" (gethash "result" (gethash "body" reply)))
         (message "%s" (gethash "message" reply))))
     session)))

(provide 'rldb-dap)
;;; rldb-dap.el ends here
