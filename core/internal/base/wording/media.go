package wording

import (
	"fmt"
	"strings"
)

// Texts for a chat about files that are not sent with an answer.
const (
	FilesFailed  = "The files could not be sent. " + seeLog
	NoFilesOfWeb = "Files of the web are not sent from here."
	NoDataFiles  = "A file that is written into the answer itself (data:) is not sent."
	SomeFile     = "A file"
)

// FileProblems says how many more files had problems.
func FileProblems(more int) string {
	return fmt.Sprintf("There were problems with %d more files.", more)
}

// FilesBeyond says that files were not sent, because an answer may have no more.
func FilesBeyond(n, most int) string {
	if n == 1 {
		return fmt.Sprintf("One more file was not sent: an answer takes %d.", most)
	}
	return fmt.Sprintf("%d more files were not sent: an answer takes %d.", n, most)
}

// FilesLater says that files follow with later answers, because one may have no more.
func FilesLater(n, most int) string {
	if n == 1 {
		return fmt.Sprintf("One more file goes with my next answer in this conversation: one takes %d.", most)
	}
	return fmt.Sprintf("%d more files go with my next answers in this conversation: one takes %d.", n, most)
}

// FileAt names a file of the web by its host, which may be empty.
func FileAt(host string) string {
	if host == "" {
		return "The file"
	}
	return "The file at " + host
}

// FileIsFolder says that a folder is not sent.
func FileIsFolder(name string) string {
	return name + " is a folder; only the files beside it are sent."
}

// FileEmpty says that a file is not sent because it is empty.
func FileEmpty(name string) string { return name + " is empty, so it was not sent." }

// FileUnreadable says that a file is not sent because the host could not read it.
func FileUnreadable(name string) string { return name + " could not be read, so it was not sent." }

// FileNotTaken says that a chat accepts no files, or none of a kind.
func FileNotTaken(name, sort string) string {
	return fmt.Sprintf("%s was not sent: this chat takes no %s.", name, sort)
}

// FileTooLarge says that a file is larger than a chat accepts; size may be empty.
func FileTooLarge(name, size, most string) string {
	if size != "" {
		name += " (" + size + ")"
	}
	return fmt.Sprintf("%s is larger than the %s that this chat takes.", name, most)
}

// FileNotSent says why a file is not sent.
func FileNotSent(name string, why error) string {
	return fmt.Sprintf("%s %s, so it was not sent.", name, why)
}

// FilesLacking is the line of a message about its missing files.
func FilesLacking(names []string) string {
	return "(Could not be sent: " + strings.Join(names, ", ") + ")"
}

// FolderFull tells owners that the oldest files of a folder were deleted.
func FolderFull(folder, most, removed string, files int) string {
	return fmt.Sprintf("%s is full: of the %s that it may hold, the oldest %s (%d files) were removed to make space.",
		folder, most, removed, files)
}

// The folders that may be full.
const (
	FolderMedia    = "The folder media/ of state_dir"
	FolderInbound  = "The folder inbound/ of the workspace"
	FolderOutbound = "The folder outbound/ of the workspace"
	FolderDatabase = "The database's space for files"
)
