module polyglot

go 1.25

require portcullis v0.0.0

replace portcullis => ./.portcullis/go
