package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"go.mau.fi/libsignal/logger"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// libraryLog logs the library's warnings and errors. Lower levels contain whole messages and keys.
type libraryLog struct{ log *slog.Logger }

// maxLogged is the maximum length of the library's log lines, in bytes.
const maxLogged = 300

// address matches web addresses; those of media servers are secret.
var address = regexp.MustCompile(`(https?|wss?)://[^\s"]+`)

// line formats a log line without addresses, and without the sender's address and name in a stanza.
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

// silence stops the Signal library from printing to the standard output. Its calls also return their errors.
type silence struct{}

// quieten is called at the start of the process: the library has one logger for all.
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
