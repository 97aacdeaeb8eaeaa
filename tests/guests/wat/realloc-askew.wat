;; Has the host put arguments where nothing can be put in one piece.
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4099))
(func $run)
