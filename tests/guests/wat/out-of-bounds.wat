;; Reads behind the end of its memory.
(func $run (drop (i32.load (i32.const 0x7fff0000))))
