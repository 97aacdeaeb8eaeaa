module portcullis

go 1.25
