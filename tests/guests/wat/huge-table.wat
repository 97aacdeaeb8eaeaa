;; Needs ten million table elements before it does anything.
(table $huge 10000000 funcref)
(func $run)
