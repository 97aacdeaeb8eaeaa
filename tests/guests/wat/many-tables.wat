;; Has fifty tables.
(func $run)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
