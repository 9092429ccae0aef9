package telegramtest

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// Entity is a range of a text, in UTF-16 code units.
type Entity struct {
	Type     string         `json:"type"`
	Offset   int            `json:"offset"`
	Length   int            `json:"length"`
	URL      string         `json:"url,omitempty"`
	Language string         `json:"language,omitempty"`
	User     map[string]any `json:"user,omitempty"`
}

// maxEntities is how many entities of a message Telegram looks at.
const maxEntities = 100

var found = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"mention", regexp.MustCompile(`(?:^|[^\w@/])(@[A-Za-z]\w{3,31})\b`)},
	{"bot_command", regexp.MustCompile(`(?:^|[^\w@/])(/\w{1,64}(?:@[A-Za-z]\w{3,31})?)\b`)},
}

// findEntities are the mentions and commands that Telegram finds in a text by itself.
func findEntities(text string) []Entity {
	var entities []Entity
	for _, f := range found {
		for _, at := range f.pattern.FindAllStringSubmatchIndex(text, -1) {
			entities = append(entities, Entity{Type: f.kind, Offset: units(text[:at[2]]), Length: units(text[at[2]:at[3]])})
		}
	}
	return sortEntities(entities)
}

func sortEntities(entities []Entity) []Entity {
	slices.SortStableFunc(entities, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return entities
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// checkEntities refuses what the real server refuses, and what it would fix or drop in silence: a test wants to see it.
func checkEntities(text string, entities []Entity) error {
	if len(entities) > maxEntities {
		return fmt.Errorf("%d entities, of which Telegram drops all beyond %d", len(entities), maxEntities)
	}
	coded := utf16.Encode([]rune(text))
	inside := func(i int) bool { return i > 0 && i < len(coded) && coded[i] >= 0xDC00 && coded[i] <= 0xDFFF }
	var open []Entity
	for _, e := range sortEntities(slices.Clone(entities)) {
		end := e.Offset + e.Length
		switch {
		case e.Offset < 0:
			return fmt.Errorf("receive an entity with incorrect offset %d", e.Offset)
		case e.Length <= 0:
			return fmt.Errorf("receive an entity with incorrect length %d", e.Length)
		case end > len(coded):
			return fmt.Errorf("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end)
		case inside(e.Offset):
			return fmt.Errorf("entity begins in a middle of a UTF-16 symbol at UTF-16 offset %d", e.Offset)
		case inside(end):
			return fmt.Errorf("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol", e.Offset)
		}
		if err := checkKind(e); err != nil {
			return err
		}
		for len(open) > 0 && open[len(open)-1].Offset+open[len(open)-1].Length <= e.Offset {
			open = open[:len(open)-1]
		}
		for _, outer := range open {
			if err := checkNesting(outer, e); err != nil {
				return err
			}
		}
		open = append(open, e)
	}
	return nil
}

func checkKind(e Entity) error {
	switch e.Type {
	case "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "blockquote", "expandable_blockquote", "text_mention":
		return nil
	case "text_link":
		u, err := url.Parse(e.URL)
		switch {
		case err != nil:
			return fmt.Errorf("wrong message entity: %w", err)
		case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "tg":
			return fmt.Errorf("wrong message entity: unsupported URL protocol %q", u.Scheme)
		case u.Host == "", u.Scheme != "tg" && !strings.ContainsAny(u.Hostname(), ".:"):
			return fmt.Errorf("wrong message entity: wrong HTTP URL %q", e.URL)
		}
		return nil
	default:
		return fmt.Errorf("a bot cannot send entities of type %q", e.Type)
	}
}

func checkNesting(outer, inner Entity) error {
	isQuote := strings.HasSuffix(outer.Type, "blockquote")
	switch {
	case inner.Offset+inner.Length > outer.Offset+outer.Length:
		return fmt.Errorf("entities %q and %q at UTF-16 offset %d cross", outer.Type, inner.Type, inner.Offset)
	case outer.Type == "code" || outer.Type == "pre", !isQuote && (inner.Type == "code" || inner.Type == "pre"),
		isQuote && strings.HasSuffix(inner.Type, "blockquote"), outer.Type == inner.Type:
		return fmt.Errorf("entity %q at UTF-16 offset %d must not lie in %q", inner.Type, inner.Offset, outer.Type)
	}
	return nil
}
