;; Answers with a list of 60,000 pieces of content that are all the same 32 KiB of text: 2 GiB to copy, of 8 MiB.
(func $run
  (local $piece i32)
  (drop (memory.grow (i32.const 128)))
  (memory.fill (i32.const 32768) (i32.const 120) (i32.const 32768))
  (i32.store (i32.const 1032) (i32.const 131072))
  (i32.store (i32.const 1036) (i32.const 60000))
  (local.set $piece (i32.const 131072))
  (loop $again
    (i32.store offset=8 (local.get $piece) (i32.const 32768))
    (i32.store offset=12 (local.get $piece) (i32.const 32768))
    (local.set $piece (i32.add (local.get $piece) (i32.const 128)))
    (br_if $again (i32.lt_u (local.get $piece) (i32.const 7811072)))))
