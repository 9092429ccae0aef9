package store

import (
	"cmp"
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

// mentions returns what of all tables has one of the terms.
func mentions(t *engine.Tx, terms []string) (list []Mention, err error) {
	terms = Spellings(terms)
	var names []string
	err = t.Each(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`, nil, func(r engine.Rows) error {
		var name string
		if err := r.Scan(&name); err != nil {
			return err
		}
		if !strings.HasPrefix(name, "sqlite_") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		found, err := mentionsIn(t, name, terms)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list[:min(len(list), maxMentions)], nil
}

func mentionsIn(t *engine.Tx, table string, terms []string) ([]Mention, error) {
	var columns []string // without numbers, which are nobody's ids
	err := t.Each(`SELECT name FROM pragma_table_info(?1)`, []any{table}, func(r engine.Rows) error {
		var name string
		defer func() {
			columns = append(columns, `CASE WHEN typeof(`+name+`) IN ('text', 'blob') THEN CAST(`+name+` AS TEXT) ELSE '' END`)
		}()
		return r.Scan(&name)
	})
	if err != nil {
		return nil, err
	}
	found := map[Mention]int{}
	err = t.Each(`SELECT `+whose(table)+`, `+strings.Join(columns, ` || char(10) || `)+` FROM `+table, nil, func(r engine.Rows) error {
		var of, text string
		if err := r.Scan(&of, &text); err != nil {
			return err
		}
		if i := slices.IndexFunc(terms, func(term string) bool { return HasTerm(text, term) }); i >= 0 {
			found[Mention{Where: strings.TrimSuffix(table+" of "+of, " of "), Term: terms[i]}]++
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
