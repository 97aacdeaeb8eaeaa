;; Fills nearly 60 MiB of memory again and again: few instructions, much work.
(func $run
  (drop (memory.grow (i32.const 958)))
  (loop $again
    (memory.fill (i32.const 65536) (i32.const 1) (i32.const 62849024))
    (br $again)))
