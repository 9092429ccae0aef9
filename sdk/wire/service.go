package wire

import (
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// The limits of what a service takes and returns.
const (
	MaxAttached     = 10       // files of a plugin's message or turn
	MaxContext      = 64 << 10 // bytes of a turn's context
	MaxConversation = 64       // bytes of the name of a plugin's own conversation
	MaxWakeUp       = 200      // bytes of a wake-up's key
	MaxArgs         = 64 << 10 // bytes of a command line
	MaxOutput       = 1 << 20  // bytes of what a command line reads, prints, and prints as errors
	MaxExitCode     = 125      // the codes above it are the shell's
	MaxBody         = 1 << 20  // bytes of an HTTP request's or response's body
	MaxHeaders      = 64 << 10 // bytes of the headers of one
)

// MediaListToProto converts files.
func MediaListToProto(list []chat.Media) []*pluginv1.Media { return each(list, MediaToProto) }

// AttachedFromProto converts the files of a plugin's message or turn, which it has uploaded.
func AttachedFromProto(list []*pluginv1.Media) ([]chat.Media, error) {
	if err := count("media", len(list), MaxAttached); err != nil {
		return nil, err
	}
	media, err := mediaFrom("media", list)
	if err != nil {
		return nil, err
	}
	for _, m := range media {
		if m.Ref == "" {
			return nil, field("media.ref", "empty")
		}
	}
	return media, nil
}

// ValidConversation reports whether a name is one of a plugin's own conversation.
func ValidConversation(name string) bool {
	return name != "" && len(name) <= MaxConversation && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// CLIResultToProto converts what a command line prints.
func CLIResultToProto(stdout, stderr string, code int) *pluginv1.RunCliResponse {
	return &pluginv1.RunCliResponse{
		Stdout: printable(stdout), Stderr: printable(stderr), ExitCode: uint32(max(0, min(code, MaxExitCode))),
	}
}

// CLIResultFromProto converts what a command line prints.
func CLIResultFromProto(r *pluginv1.RunCliResponse) (stdout, stderr string, code int) {
	return printable(r.GetStdout()), printable(r.GetStderr()), int(min(r.GetExitCode(), MaxExitCode))
}

// printable returns a text for a terminal, cut to [MaxOutput] bytes and without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, Cut(s, MaxOutput))
}
