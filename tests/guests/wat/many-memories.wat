;; Has fifty memories more than it needs.
(func $run)
(memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1)
(memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1)
(memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1)
(memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1)
(memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1) (memory 1)
