;; A plugin with one tool, `run`, written by hand: what no compiler would make goes where the marker is, as the function
;; `$run` and whatever it needs. Addresses follow the canonical ABI of wit/v0.1; a result of zeros is an empty one.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\40\00\00\00\01\00\00\00")              ;; the list of tools: one at 64
  (data (i32.const 64)
    "\00\01\00\00\03\00\00\00"                                  ;; name: 3 bytes at 256
    "\00\00\00\00\00\00\00\00\00\00\00\00"                      ;; no title
    "\10\01\00\00\0a\00\00\00"                                  ;; description: 10 bytes at 272
    "\20\01\00\00\11\00\00\00"                                  ;; input schema: 17 bytes at 288
    "\00\00\00\00\00\00\00\00\00\00\00\00"                      ;; no output schema
    "\00\00\00\00\00\00\00\00"                                  ;; no annotations
    "\00\00\00\00\00\00\00\00\00\00\00\00")                     ;; inline, no icons
  (data (i32.const 256) "run")
  (data (i32.const 272) "Misbehaves")
  (data (i32.const 288) "{\"type\":\"object\"}")
  (global $free (mut i32) (i32.const 4096))
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func (export "portcullis:plugin/tools@0.1.0#list-tools") (result i32) (i32.const 16))
  (func (export "portcullis:plugin/tools@0.1.0#call-tool") (param i32) (result i32)
    (call $run)
    (i32.const 1024))
  ;; BEHAVIOUR
)
