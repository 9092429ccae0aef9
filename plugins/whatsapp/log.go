package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"go.mau.fi/libsignal/logger"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// libraryLog takes the library's warnings and errors. What it says below that holds whole messages and keys.
type libraryLog struct{ log *slog.Logger }

// maxLogged is the longest line of the library that is logged, in bytes.
const maxLogged = 300

// address is a web address; those of media servers are secret.
var address = regexp.MustCompile(`(https?|wss?)://[^\s"]+`)

// line leaves out addresses, and what a message's stanza holds: who wrote it, and their name.
func (libraryLog) line(format string, args []any) string {
	line, _, _ := strings.Cut(fmt.Sprintf(format, args...), "<")
	line = address.ReplaceAllString(line, "[address]")
	return strings.ToValidUTF8(line[:min(len(line), maxLogged)], "")
}

// Errorf implements waLog.Logger.
func (l libraryLog) Errorf(format string, args ...any) {
	l.log.Warn("whatsmeow", "says", l.line(format, args))
}

// Warnf implements waLog.Logger.
func (l libraryLog) Warnf(format string, args ...any) {
	l.log.Debug("whatsmeow", "says", l.line(format, args))
}

// Infof implements waLog.Logger.
func (libraryLog) Infof(string, ...any) {}

// Debugf implements waLog.Logger.
func (libraryLog) Debugf(string, ...any) {}

// Sub implements waLog.Logger.
func (l libraryLog) Sub(string) waLog.Logger { return l }

// silence keeps the library of the Signal protocol from printing to the standard output. Its errors come back from its
// calls as well.
type silence struct{}

// quieten is for a process's start: the library's logger is one for all.
func quieten() {
	var silent logger.Loggable = silence{}
	logger.Setup(&silent)
}

// Debug implements logger.Loggable.
func (silence) Debug(string, string) {}

// Info implements logger.Loggable.
func (silence) Info(string, string) {}

// Warning implements logger.Loggable.
func (silence) Warning(string, string) {}

// Error implements logger.Loggable.
func (silence) Error(string, string) {}

// Configure implements logger.Loggable.
func (silence) Configure(string) {}
