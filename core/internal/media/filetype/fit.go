package filetype

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxOutgoing limits a file that the agent sends, whatever the chat's limit, in bytes.
const maxOutgoing = 256 << 20

// lesser are the kinds as which a file is sent if its own kind, or its size, is not accepted.
var lesser = map[chat.MediaKind][]chat.MediaKind{
	chat.Image: {chat.File},
	chat.Voice: {chat.Audio, chat.File},
	chat.Audio: {chat.File},
	chat.Video: {chat.File},
}

// Fit returns the kind as which a chat accepts a file. If no kind fits, most is the largest size that it would accept, or
// zero if it accepts none of these kinds.
func Fit(m chat.Media, limits []chat.MediaLimit) (kind chat.MediaKind, most int64) {
	for _, kind := range append([]chat.MediaKind{m.Kind}, lesser[m.Kind]...) {
		i := slices.IndexFunc(limits, func(l chat.MediaLimit) bool { return l.Kind == kind })
		if i < 0 {
			continue
		}
		bound := bounded(limits[i])
		if m.Size <= bound {
			return kind, bound
		}
		most = max(most, bound)
	}
	return 0, most
}

// Largest returns the maximum size of any file that a chat accepts; zero: none.
func Largest(limits []chat.MediaLimit) int64 {
	most := int64(0)
	for _, l := range limits {
		most = max(most, bounded(l))
	}
	return most
}

// bounded returns a limit's size; zero means the host's own limit.
func bounded(l chat.MediaLimit) int64 {
	if l.MaxBytes <= 0 {
		return maxOutgoing
	}
	return min(l.MaxBytes, maxOutgoing)
}

// Megabytes formats a size in units of 1024, rounded up to a tenth so that a size above a limit never looks equal to it.
func Megabytes(bytes int64) string {
	unit, name := int64(1<<20), "MB"
	if bytes < unit {
		unit, name = 1<<10, "KB"
	}
	tenths := (bytes*10 + unit - 1) / unit
	text := strconv.FormatInt(tenths/10, 10)
	if tenths%10 > 0 && tenths < 1000 {
		text += fmt.Sprintf(".%d", tenths%10)
	} else if tenths%10 > 0 {
		text = strconv.FormatInt(tenths/10+1, 10)
	}
	return text + " " + name
}
