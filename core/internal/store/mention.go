package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const (
	leastTerm   = 3   // characters: shorter terms are in everything
	maxMentions = 200 // that are told
)

// Mention is a place in the database that has one of the terms.
type Mention struct {
	Where string `json:"where"` // such as "transcript of telegram:group:-5"
	Term  string `json:"term"`
	Rows  int    `json:"rows"`
}

// Spellings returns the terms that are long enough to be looked for, each also as it is in JSON.
func Spellings(terms []string) (all []string) {
	for _, term := range terms {
		if utf8.RuneCountInString(term) < leastTerm {
			continue
		}
		all = append(all, term)
		quoted, err := json.Marshal(term)
		for _, form := range []string{string(quoted), strconv.QuoteToASCII(term)} {
			if form = strings.TrimSuffix(strings.TrimPrefix(form, `"`), `"`); err == nil && !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	return all
}

// mentions returns what of these tables has one of the terms.
func mentions(t *engine.Tx, tables []engine.Table, terms []string) (list []Mention, err error) {
	terms = Spellings(terms)
	for _, table := range tables {
		if table.Name == "media_chunks" { // they are much, and files of others
			continue
		}
		found, err := mentionsIn(t, table, terms)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list[:min(len(list), maxMentions)], nil
}

func mentionsIn(t *engine.Tx, table engine.Table, terms []string) ([]Mention, error) {
	var names []string // without numbers, which are nobody's ids
	var texts []sql.NullString
	var bytes [][]byte
	for _, kind := range []string{engine.Text, engine.Bytes} {
		for _, c := range table.Columns {
			if c.Kind == kind {
				names = append(names, c.Name)
			}
		}
		if kind == engine.Text {
			texts = make([]sql.NullString, len(names))
		} else {
			bytes = make([][]byte, len(names)-len(texts))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	var of string
	dest := []any{&of}
	for i := range texts {
		dest = append(dest, &texts[i])
	}
	for i := range bytes {
		dest = append(dest, &bytes[i])
	}
	found := map[Mention]int{}
	err := t.Each(`SELECT `+whose(table.Name)+`, `+strings.Join(names, `, `)+` FROM `+table.Name, nil, func(r engine.Rows) error {
		if err := r.Scan(dest...); err != nil {
			return err
		}
		var text strings.Builder
		for _, column := range texts {
			text.WriteString(column.String + "\n")
		}
		for _, column := range bytes {
			text.WriteString(string(column) + "\n")
		}
		if i := slices.IndexFunc(terms, func(term string) bool { return HasTerm(text.String(), term) }); i >= 0 {
			found[Mention{Where: strings.TrimSuffix(table.Name+" of "+of, " of "), Term: terms[i]}]++
		}
		return nil
	})
	var list []Mention
	for m, rows := range found {
		m.Rows = rows
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Mention) int { return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Term, b.Term)) })
	return list, err
}

// whose is the expression that says whose a row of a table is.
func whose(table string) string {
	switch {
	case slices.Contains(ofSessions, table):
		return `session`
	case slices.Contains(ofChats, table):
		return `channel || ':' || chat`
	}
	switch table {
	case "sessions":
		return `key`
	case "state":
		return `instance || ': ' || key`
	case "overrides":
		return `name`
	case "worktrees":
		return `root`
	default:
		return `''`
	}
}
