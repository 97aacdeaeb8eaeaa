// The plugin `git`: questions to Git repositories in granted folders. It reads the files of a repository itself and runs nothing.
package main

import "portcullis"

func init() {
	reads := []portcullis.Option{portcullis.ReadOnly, portcullis.Idempotent, portcullis.NotOpenWorld}
	long := append(reads[:len(reads):len(reads)], portcullis.Takes(portcullis.MayRunLong))
	portcullis.Tool("log", "Lists commits, newest first: of a revision, and if asked of a path, an author, a time or with words in the message.", log, long...)
	portcullis.Tool("show", "Shows a commit: its message, the files that it changed, and the changes as a unified diff.", show, long...)
	portcullis.Tool("diff", "Compares two revisions: the files that differ, and the differences as a unified diff.", compare, long...)
	portcullis.Tool("blame", "Says for each line of a file in which commit it was last changed. Renames are not followed.", blame, long...)
	portcullis.Tool("file", "Reads a file at a revision, or lists a folder.", file, reads...)
	portcullis.Tool("search", "Searches the files of a revision for a regular expression and reports the lines that match, file by file while it searches.", search, long...)
	portcullis.Tool("status", "Says what is not committed: staged, unstaged, untracked and conflicted files; and how far the branch is from its upstream.", stand, long...)
	portcullis.Tool("branches", "Lists branches, also those of remotes, with their last commit.", branches, reads...)
	portcullis.Tool("tags", "Lists tags with what they point to.", tags, reads...)
}

func main() {}
