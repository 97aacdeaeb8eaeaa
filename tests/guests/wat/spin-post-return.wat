;; Answers, and computes for ever when the host then lets it clean up.
(func $run)
(func (export "cabi_post_portcullis:plugin/tools@0.1.0#call-tool") (param i32) (loop $again (br $again)))
