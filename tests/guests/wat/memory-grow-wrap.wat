;; Grows its memory by so much that its size would wrap around, and breaks when it may not.
(func $run (if (i32.lt_s (memory.grow (i32.const -1)) (i32.const 0)) (then unreachable)))
