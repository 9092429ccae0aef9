package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var share = flag.String("share", "", "write the manual pages and the completion scripts into this `folder`, laid out as /usr/local/share")

// shared returns the place of a file below the folder of the flag -share, or below a temporary one.
func shared(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(cmp.Or(*share, t.TempDir()), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// Every command has a page of the manual, which says what its help says.
func TestManPages(t *testing.T) {
	t.Parallel()
	pages := manPages(t)
	var files []string
	for _, c := range listed((&app{}).commands()) {
		name := manName(c)
		page, ok := pages[name]
		if !ok {
			t.Errorf("the command %q has no page", c.CommandPath())
			continue
		}
		delete(pages, name)
		checkPage(t, c, page)
		file := shared(t, "man/man1/"+name+".1")
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for name := range pages {
		t.Errorf("%s is the page of no command", name)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("groff, by which man shows pages, is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "groff", append([]string{"-k", "-man", "-Tutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}

// checkPage looks for a command's help in its page.
func checkPage(t *testing.T, c *cobra.Command, page string) {
	t.Helper()
	want := []string{
		".SH NAME\n" + manName(c) + " - " + c.Short + "\n", ".SH SYNOPSIS\n" + c.CommandPath(),
		".SH DESCRIPTION\n", "one dash or two", ".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n",
	}
	if c.HasExample() {
		want = append(want, ".SH EXAMPLES\n.EX\n"+c.Example+"\n.EE\n")
	}
	flags := func(f *pflag.Flag) {
		name, usage := pflag.UnquoteUsage(f)
		first, _, _ := strings.Cut(strings.ReplaceAll(usage, "`", ""), "\n")
		short := ""
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		want = append(want, ".TP\n"+short+strings.TrimSpace("-"+f.Name+" "+name)+"\n"+first)
	}
	c.LocalFlags().VisitAll(flags)
	c.InheritedFlags().VisitAll(flags)
	text := regexp.MustCompile(`\\f[A-Z]`).ReplaceAllString(page, "")
	text = strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(ti`, "~", `\(ha`, "^").Replace(text)
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("the page of %q has no %q:\n%s", c.CommandPath(), part, text)
		}
	}
	if regexp.MustCompile(`(?m)[ \t]$`).MatchString(page) {
		t.Errorf("lines of the page of %q end with blanks:\n%q", c.CommandPath(), page)
	}
}

// listed returns a command and all below it that the help lists.
func listed(c *cobra.Command) []*cobra.Command {
	if !c.HasParent() {
		c.InitDefaultHelpCmd()
		c.InitDefaultCompletionCmd()
	}
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, listed(sub)...)
		}
	}
	return list
}

// manName is the name of a command's page.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPages returns the pages by their names. A flag has one dash there, as in the examples and in the other documentation.
func manPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	root := (&app{}).commands()
	root.DisableAutoGenTag = true
	for _, c := range listed(root) {
		c.InitDefaultHelpFlag()
		if c.HasParent() {
			c.Long = cmp.Or(c.Long, c.Short) + "\n\nFlags may begin with one dash or two."
		}
		if c.HasSubCommands() {
			c.Use += " [COMMAND]"
		}
		// The library shows the default value of a flag as what it is set to.
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			switch f.DefValue {
			case "", "0", "false", "[]":
			default:
				usage += fmt.Sprintf(" (default %s)", f.DefValue)
			}
			f.DefValue, f.Usage = value, usage
		})
		var b bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "clawhost " + version, Manual: "clawhost"}, &b); err != nil {
			t.Fatal(err)
		}
		page := manPage(b.String())
		if above, also, found := strings.Cut(page, ".SH SEE ALSO\n"); found {
			page = above + manEnd + ".SH SEE ALSO\n" + also
		} else {
			page += manEnd
		}
		pages[manName(c)] = page
	}
	return pages
}

// manEnd are the sections that all pages have before SEE ALSO.
const manEnd = `.SH EXIT STATUS
0: success. 1: failure. 2: wrong usage. 3: no host runs.
.SH ENVIRONMENT
.TP
\fBCLAWHOST_CONFIG\fP
the config file, without \fB\-config\fP
.TP
\fBNO_COLOR\fP
if it is not empty, the output has no colours
.TP
\fBACCESSIBLE\fP
if it is not empty, \fBclawhost init\fP asks its questions line by line
.SH FILES
.TP
\fI./config.hcl\fP, \fI\(ti/.config/clawhost/config.hcl\fP, \fI/etc/clawhost/config.hcl\fP
the config file: the first that exists, if none is named
.TP
\fIenv\fP
beside the config file: variables that it reads, such as tokens
`

// manFlag is the first line of a flag in a page of the library.
var manFlag = regexp.MustCompile(`(?:\n\.PP)?\n((?:\\fB-\w\\fP, )?)\\fB--(\S+)\\fP\[?="?([^"\]\n]*)"?\]?\n\t`)

// manPage returns a page of the library as it should be: flags with one dash and what they take, each in a paragraph with a tag; and
// signs of programs that groff does not replace by typographic ones.
func manPage(page string) string {
	page = manFlag.ReplaceAllString(page, "\n.TP\n$1\\fB-$2\\fP \\fI$3\\fP\n")
	page = strings.ReplaceAll(page, ` \fI\fP`, "")
	page = strings.ReplaceAll(page, "\n.SH EXAMPLE\n", "\n.SH EXAMPLES\n")
	return strings.NewReplacer(`\-`, `\-`, "-", `\-`, "'", `\(aq`, "~", `\(ti`, "^", `\(ha`).Replace(page)
}

// completionFiles are the places of the completion scripts, by their shells.
var completionFiles = map[string]string{
	"bash": "bash-completion/completions/clawhost",
	"zsh":  "zsh/site-functions/_clawhost",
	"fish": "fish/vendor_completions.d/clawhost.fish",
}

// The script for each shell is written, and that for bash completes a word.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, name := range completionFiles {
		var out, err bytes.Buffer
		if code := (&app{out: &out, err: &err}).run(t.Context(), []string{"completion", shell}); code != exitWell || out.Len() == 0 {
			t.Fatalf("completion %s: exit code %d, %d bytes, error %q", shell, code, out.Len(), err.String())
		}
		file := shared(t, name)
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.LookPath("bash"); shell == "bash" && err == nil {
			completesInBash(t, file)
		}
	}
}

// completesInBash completes "clawhost plugin re", with a stand-in for the function of the package bash-completion.
func completesInBash(t *testing.T, file string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-u", "-c", `
		_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${words[cword]} prev=${words[cword-1]}; }
		compopt() { :; } # the shell's own works only while the shell completes
		source "$0" && COMP_WORDS=(clawhost plugin re) COMP_CWORD=2 COMP_TYPE=9 && __start_clawhost && echo "${COMPREPLY[@]}"`, file).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "restart" {
		t.Errorf("bash completes \"clawhost plugin re\" by %q, want \"restart\": %v", got, err)
	}
}
