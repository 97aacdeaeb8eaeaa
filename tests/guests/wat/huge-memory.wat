;; Needs a gigabyte before it does anything. This memory takes the place of the frame's.
(memory (export "memory") 16384)
(func $run)
