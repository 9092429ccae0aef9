package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Parameters of search and ranking, chosen with the labelled data of the tests.
const (
	maxQuery      = 8 << 10 // bytes of a prompt that are used
	maxCandidates = 60      // passages that are ranked
	maxMatches    = 1500    // passages that a query may read, except for the rarest word

	freshExchanges = 3 // of the same session, which are still in the agent's context

	// A passage is recalled if it has this share of the searched words, by weight: rare words weigh more.
	minCoverage      = 0.4
	minCoverageOfTwo = 0.25 // if it has two of the words
	minCoverageOfAny = 0.2  // if it has three

	recencyBoost = 0.1
	recencyScale = 60 * 24 * time.Hour
	nearlySame   = 0.8 // of the words of two passages

	// The constants of BM25.
	saturation = 1.2
	lengthPart = 0.75
)

// candidate is a passage that has some of the words.
type candidate struct {
	id      int64
	origin  origin
	heading string
	body    string
	at      time.Time

	words    map[string]struct{}
	coverage float64
	score    float64
}

// recall returns the passages that match the prompt best, at most limit, best first.
func (x *index) recall(ctx context.Context, v view, prompt string, now time.Time, limit int) ([]candidate, error) {
	terms := x.terms(prompt)
	if len(terms) == 0 {
		return nil, nil
	}
	found, err := x.search(ctx, v, match(terms))
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", damage(err))
	}
	rank(found, terms, now)
	var best, known []candidate
	for _, c := range found {
		switch {
		case c.score <= 0, len(best) == limit, slices.ContainsFunc(known, c.resembles):
			continue
		case c.origin.path != memoryFile || !v.shown[passage{c.heading, c.body}]:
			best = append(best, c)
		}
		known = append(known, c)
	}
	return best, nil
}

// match returns the full-text query for the terms. It contains people's words only as quoted letters and digits. Very
// frequent words are left out of the query, but still count for the rank.
func match(terms []term) string {
	var quoted []string
	looked := 0
	for i, t := range terms {
		if looked += t.passages; looked > maxMatches && i > 0 {
			break
		}
		for _, f := range t.forms {
			quoted = append(quoted, `"`+strings.ReplaceAll(f.word, `"`, `""`)+`"`)
		}
	}
	return strings.Join(quoted, " OR ")
}

// search returns passages of the view with some of the words, in SQLite's order.
func (x *index) search(ctx context.Context, v view, query string) ([]candidate, error) {
	if query == "" {
		return nil, nil
	}
	persons, err := json.Marshal(slices.Concat([]string{}, v.persons)) // never null
	if err != nil {
		return nil, err
	}
	rows, err := x.read.QueryContext(ctx, `
		WITH best AS (
			SELECT words.rowid AS id, bm25(words) AS rank
			FROM words JOIN passages p ON p.id = words.rowid
			WHERE words MATCH ?1 AND (
				CASE WHEN ?7 = '' THEN p.path < ?8 OR p.path > ?9 ELSE p.path > ?7 || '/' AND p.path < ?7 || '0' END
				OR p.session = ?2 AND p.exchange < coalesce((
					SELECT min(exchange) FROM (
						SELECT DISTINCT exchange FROM entries WHERE session = ?2 ORDER BY exchange DESC LIMIT ?4)), 0)
				OR p.session <> ?2 AND p.session IN (
					SELECT key FROM sessions WHERE used = ?6 AND person IN (SELECT value FROM json_each(?3)))
				-- A direct chat with a key of its own, not used since the plugin was switched on.
				OR p.session <> ?2 AND p.session IN (SELECT value FROM json_each(?3)) AND p.session NOT IN (SELECT key FROM sessions))
			ORDER BY rank LIMIT ?5)
		SELECT p.id, p.path, p.session, p.exchange, p.heading, p.body, p.at
		FROM best JOIN passages p USING (id)
		ORDER BY rank`, query, v.session, string(persons), freshExchanges, maxCandidates, byOne, v.folder, groupsFolder, groupsEnd)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []candidate
	for rows.Next() {
		var c candidate
		var path, session sql.NullString
		var exchange sql.NullInt64
		var at int64
		if err := rows.Scan(&c.id, &path, &session, &exchange, &c.heading, &c.body, &at); err != nil {
			return nil, err
		}
		c.origin = origin{path: path.String, session: session.String, exchange: exchange.Int64}
		c.at = time.UnixMilli(at)
		found = append(found, c)
	}
	return found, rows.Err()
}

// rank scores and sorts the candidates. A score of zero is too low.
func rank(found []candidate, terms []term, now time.Time) {
	var total, length float64
	for _, t := range terms {
		total += t.weight
	}
	for _, c := range found {
		length += float64(len(c.body)) / float64(len(found))
	}
	for i := range found {
		found[i].rate(terms, total, length, now)
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
}

// rate scores a candidate: BM25 with the weights of the terms' forms, times its share of the query, with a small bonus for
// recent ones.
func (c *candidate) rate(terms []term, total, length float64, now time.Time) {
	times := map[string]float64{}
	for word, weight := range (passage{c.heading, c.body}).words() {
		times[word] += weight
	}
	c.words = map[string]struct{}{}
	for word := range times {
		c.words[word] = struct{}{}
	}
	var score, covered float64
	matched := map[int]bool{} // the runs of matching words
	for _, t := range terms {
		var count, worth float64
		for _, f := range t.forms {
			if n := times[f.word]; n > 0 {
				count += n * f.weight
				worth = max(worth, f.weight)
			}
		}
		if count == 0 {
			continue
		}
		matched[t.run] = true
		covered += t.weight * worth
		norm := saturation * (1 - lengthPart + lengthPart*float64(len(c.body))/max(length, 1))
		score += t.weight * count * (saturation + 1) / (count + norm)
	}
	c.coverage = covered / max(total, math.SmallestNonzeroFloat64)
	least := minCoverage
	switch {
	case len(matched) >= 3:
		least = minCoverageOfAny
	case len(matched) == 2:
		least = minCoverageOfTwo
	}
	if c.coverage < least {
		return
	}
	age := max(0, now.Sub(c.at))
	if c.origin.path == memoryFile {
		age = 0 // it is kept up to date
	}
	c.score = score * (0.4 + 0.6*c.coverage) * (1 + recencyBoost*math.Exp(-float64(age)/float64(recencyScale)))
}

// resembles reports whether two passages are nearly the same.
func (c *candidate) resembles(other candidate) bool {
	both := 0
	for word := range c.words {
		if _, ok := other.words[word]; ok {
			both++
		}
	}
	either := len(c.words) + len(other.words) - both
	return either == 0 || float64(both) >= nearlySame*float64(either)
}
