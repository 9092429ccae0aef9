package copying

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const (
	// A transaction that fills the target ends at the first of these limits, so that memory and waiting are bounded: a row may have some
	// megabytes.
	batchBytes = 4 << 20
	batchRows  = 2000
	// groupRows are the rows of one statement. One with fewer rows has statements of one row each: so a table has two texts.
	groupRows = 50
	// reportedRows are the rows after which the watcher of a comparison is called.
	reportedRows = 1000
	// longestName bounds what an error shows of a value.
	longestName = 60
)

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quotedList(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, ", ")
}

func columnNames(t engine.Table) (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// reader reads the rows of a table, by the kinds of its columns.
type reader struct {
	table  engine.Table
	query  string // all rows, in the order of their keys
	values []any  // where a row is scanned
}

func newReader(t engine.Table) *reader {
	order := t.Key
	if len(order) == 0 {
		order = columnNames(t)
	}
	r := &reader{table: t, query: `SELECT ` + quotedList(columnNames(t)) + ` FROM ` + quoted(t.Name) + ` ORDER BY ` + quotedList(order)}
	for _, c := range t.Columns {
		switch c.Kind {
		case engine.Text:
			r.values = append(r.values, &sql.NullString{})
		case engine.Bytes:
			r.values = append(r.values, &sql.Null[[]byte]{})
		default:
			r.values = append(r.values, &sql.NullInt64{})
		}
	}
	return r
}

// row returns the values of a row, each nil, a string, an int64 or []byte, and about how many bytes they have.
func (r *reader) row(found engine.Rows) (row []any, size int, err error) {
	if err := found.Scan(r.values...); err != nil {
		return nil, 0, fmt.Errorf("a row of the table %s: %w", r.table.Name, err)
	}
	row = make([]any, len(r.values))
	for i, value := range r.values {
		size += 16
		switch v := value.(type) {
		case *sql.NullString:
			if v.Valid {
				row[i] = v.String
				size += len(v.String)
			}
		case *sql.Null[[]byte]:
			if v.Valid {
				row[i] = v.V // a copy, which Scan has made
				size += len(v.V)
			}
		case *sql.NullInt64:
			if v.Valid {
				row[i] = v.Int64
			}
		}
	}
	return row, size, nil
}

// name names a row for people, by its key.
func (r *reader) name(row []any) string {
	var parts []string
	for i, c := range r.table.Columns {
		for _, key := range r.table.Key {
			if key != c.Name {
				continue
			}
			text := fmt.Sprint(row[i])
			if _, ok := row[i].(string); ok {
				text = strconv.QuoteToGraphic(text[:min(len(text), longestName)])
			}
			parts = append(parts, c.Name+" "+text)
		}
	}
	return "the row with " + strings.Join(parts, ", ") + " of the table " + r.table.Name
}

// copyTable copies a table in transactions of a bounded size.
func (c *copier) copyTable(ctx context.Context, target engine.Engine, t engine.Table) error {
	r := newReader(t)
	var batch [][]any
	var size int
	var rows int64
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		// What makes the copy a store is on disk only after all that was written before it.
		if err := engine.ChangeSoftly(ctx, target, "copy the table "+t.Name, func(tx *engine.Tx) error { return insert(tx, t, batch) }); err != nil {
			return err
		}
		rows += int64(len(batch))
		batch, size = batch[:0], 0
		c.Watcher.Copied(t.Name, rows)
		return nil
	}
	err := c.source.Each(r.query, nil, func(found engine.Rows) error {
		row, bytes, err := r.row(found)
		if err != nil {
			return err
		}
		if err := c.fitRow(r, row); err != nil {
			return err
		}
		batch = append(batch, row)
		if size += bytes; size < batchBytes && len(batch) < batchRows {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// fitRow makes a row one that the target keeps as it is, or refuses it.
func (c *copier) fitRow(r *reader, row []any) error {
	for i, value := range row {
		text, ok := value.(string)
		if !ok {
			continue
		}
		fit := c.To.fit(text)
		if fit == text {
			continue
		}
		if column := r.table.Columns[i].Name; !c.Replace {
			return fmt.Errorf("%s: PostgreSQL does not keep the text in its column %s, which contains NUL or is no UTF-8. "+
				"To have U+FFFD (\uFFFD) in place of these bytes, copy with -replace", r.name(row), column)
		}
		row[i] = fit
	}
	return nil
}

// insert inserts rows into a table.
func insert(t *engine.Tx, table engine.Table, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		if len(rows) >= groupRows {
			n = groupRows
		}
		var args []any
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.Exec(insertion(table, n), args...); err != nil {
			return fmt.Errorf("%s: %w", newReader(table).name(rows[0]), err)
		}
		rows = rows[n:]
	}
	return nil
}

// insertion is a statement that inserts so many rows.
func insertion(t engine.Table, rows int) string {
	var text strings.Builder
	text.WriteString(`INSERT INTO ` + quoted(t.Name) + ` (` + quotedList(columnNames(t)) + `) VALUES `)
	for n := range rows * len(t.Columns) {
		switch {
		case n == 0:
			text.WriteString("(?")
		case n%len(t.Columns) == 0:
			text.WriteString("), (?")
		default:
			text.WriteString(", ?")
		}
		text.WriteString(strconv.Itoa(n + 1))
	}
	text.WriteByte(')')
	return text.String()
}

// sum reads a table, and returns how many rows it has, and their digest.
func (c *copier) sum(from engine.Querier, t engine.Table, fit func(string) string) (Table, error) {
	r, digest, sum := newReader(t), sha256.New(), Table{Name: t.Name}
	err := from.Each(r.query, nil, func(found engine.Rows) error {
		row, _, err := r.row(found)
		if err != nil {
			return err
		}
		for _, value := range row {
			if text, ok := value.(string); ok {
				if value = fit(text); value != text {
					sum.Replaced++
				}
			}
			add(digest, value)
		}
		if sum.Rows++; sum.Rows%reportedRows == 0 {
			c.Watcher.Compared(t.Name, sum.Rows)
		}
		return nil
	})
	sum.Digest = hex.EncodeToString(digest.Sum(nil))
	return sum, err
}

// add adds a value to a digest: its kind, its size if it has one, and its bytes, so that no two rows add the same.
func add(to hash.Hash, value any) {
	var head [9]byte
	switch v := value.(type) {
	case nil:
		to.Write(head[:1])
	case int64:
		head[0] = 'n'
		binary.BigEndian.PutUint64(head[1:], uint64(v))
		to.Write(head[:])
	case string:
		head[0] = 't'
		binary.BigEndian.PutUint64(head[1:], uint64(len(v)))
		to.Write(head[:])
		to.Write([]byte(v))
	case []byte:
		head[0] = 'b'
		binary.BigEndian.PutUint64(head[1:], uint64(len(v)))
		to.Write(head[:])
		to.Write(v)
	}
}
