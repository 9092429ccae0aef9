package support

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// stringTable is the number of the field that has the strings of a profile (profile.proto of pprof).
const stringTable = 6

// maxUnpacked bounds a profile that is unpacked, in bytes.
const maxUnpacked = 64 << 20

var errProfile = errors.New("the profile cannot be read")

// profile returns a profile whose files are named without their folders, which may be somebody's.
func profile(packed []byte) ([]byte, error) {
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the profile: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(unpack, maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("unpack the profile: %w", err)
	}
	var out []byte
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, errProfile
		}
		size := protowire.ConsumeFieldValue(number, kind, raw[n:])
		if size < 0 {
			return nil, errProfile
		}
		if number == stringTable && kind == protowire.BytesType {
			text, _ := protowire.ConsumeString(raw[n:])
			out = protowire.AppendString(protowire.AppendTag(out, number, kind), file(text))
		} else {
			out = append(out, raw[:n+size]...)
		}
		raw = raw[n+size:]
	}
	var result bytes.Buffer
	pack := gzip.NewWriter(&result)
	if _, err := pack.Write(out); err != nil {
		return nil, err
	}
	if err := pack.Close(); err != nil {
		return nil, err
	}
	return result.Bytes(), nil
}

// file is the name of a file without its folder; any other text is as it is.
func file(text string) string {
	if strings.HasPrefix(text, "/") {
		return path.Base(text)
	}
	return text
}

var (
	goroutine = lazyregexp.New(`^goroutine \d+ (gp=\S+ m=\S+ )?\[[a-zA-Z0-9, ():.-]*\]:$`)
	created   = lazyregexp.New(`^created by ([\w./*()\[\]{}·~%-]+)( in goroutine \d+)?$`)
	called    = lazyregexp.New(`^([\w./*()\[\]{}·~%,-]+)\([0-9a-fx{}, ._?]*\)$`)
	placed    = lazyregexp.New(`^\t(/?[^\t]*\.(?:go|s)):(\d+)( \+0x[0-9a-f]+)?$`)
)

// goroutines returns stacks whose files are named without their folders.
func goroutines(stacks string) string {
	var out strings.Builder
	for line := range strings.Lines(stacks) {
		line = strings.TrimSuffix(line, "\n")
		if found := placed().FindStringSubmatch(line); found != nil {
			line = "\t" + path.Base(found[1]) + ":" + found[2] + found[3]
		} else if line != "" && !goroutine().MatchString(line) && !created().MatchString(line) && !called().MatchString(line) {
			line = gap
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
