package protocol_test

import (
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/protocol"
)

// What the tools of the CLI 2.1.331 report of a file that they have changed.
func TestReadChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, result, diff string
		added, removed     int
	}{
		{
			"created", `{"type":"create","filePath":"/w/a.txt","content":"a1\na2\n","structuredPatch":[],"originalFile":null,"userModified":false}`,
			"--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a1\n+a2\n", 2, 0,
		},
		{
			"created without a line break at its end", `{"type":"create","filePath":"/w/a.txt","content":"a1","structuredPatch":[]}`,
			"--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a1\n\\ No newline at end of file\n", 1, 0,
		},
		{"created empty", `{"type":"create","filePath":"/w/a.txt","content":"","structuredPatch":[]}`, "--- /dev/null\n+++ b/f\n", 0, 0},
		{
			"edited", `{"filePath":"/w/c.txt","oldString":"c2","newString":"C2\nC2b","originalFile":"c1\nc2\nc3\n","structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":4,"lines":[" c1","-c2","+C2","+C2b"," c3"]}],"userModified":false,"replaceAll":false}`,
			"--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n c1\n-c2\n+C2\n+C2b\n c3\n", 2, 1,
		},
		{
			"overwritten", `{"type":"update","filePath":"/w/w.txt","content":"w1\nW2\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" w1","-w2","\\ No newline at end of file","+W2"]}],"originalFile":"w1\nw2"}`,
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n w1\n-w2\n\\ No newline at end of file\n+W2\n", 1, 1,
		},
		{
			"a cell", `{"new_source":"x = 2\ny = 3","old_source":"x = 1","cell_type":"code","edit_mode":"replace","cell_id":"abc","error":"","notebook_path":"/w/n.ipynb","original_file":"{}","updated_file":"{}"}`,
			"--- a/f\n+++ b/f\n@@ -1,1 +1,2 @@\n-x = 1\n+x = 2\n+y = 3\n", 2, 1,
		},
		{
			"a deleted cell", `{"new_source":"x = 1","old_source":"x = 1","edit_mode":"delete","error":"","notebook_path":"/w/n.ipynb"}`,
			"--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-x = 1\n", 0, 1,
		},
		{"a failed cell", `{"new_source":"x","error":"no such cell","notebook_path":"/w/n.ipynb"}`, "", 0, 0},
		{"overwritten with the same", `{"type":"update","filePath":"/w/w.txt","content":"w1\n","structuredPatch":[]}`, "", 0, 0},
		{"read", `{"type":"text","file":{"filePath":"/w/c.txt","content":"c1\n","numLines":1}}`, "", 0, 0},
		{"failed", `"Error: String to replace not found in file."`, "", 0, 0},
		{"nothing", ``, "", 0, 0},
	} {
		c, ok := protocol.ReadChange([]byte(tt.result))
		if ok != (tt.diff != "") {
			t.Errorf("%s: changed = %v", tt.name, ok)
			continue
		}
		if !ok {
			continue
		}
		if added, removed := c.Count(); added != tt.added || removed != tt.removed || c.Path == "" {
			t.Errorf("%s: %q +%d -%d, want +%d -%d", tt.name, c.Path, added, removed, tt.added, tt.removed)
		}
		if got := c.Diff("f"); got != tt.diff {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.diff)
		}
	}
}
