package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/clawhost/clawhost/core/internal/lazyregexp"
)

const (
	skillFolder = "skills"
	skillFile   = "SKILL.md"

	maxEntries     = 1000 // of the folder of skills
	maxSkills      = 100
	maxSkillFile   = 64 << 10 // bytes
	maxDescription = 300      // runes
)

var skillName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

var (
	errTooManyEntries  = fmt.Errorf("it has more than %d entries: no skill is listed", maxEntries)
	errTooManySkills   = fmt.Errorf("it has more than %d folders: the last of them are not listed", maxSkills)
	errSkillName       = errors.New("its folder's name must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
	errOtherName       = errors.New("the name in its front matter is not that of its folder")
	errSkillTooLong    = fmt.Errorf("it is longer than %d KiB", maxSkillFile>>10)
	errNoFrontMatter   = errors.New("it does not begin with a front matter, which stands between two lines ---")
	errNoDescription   = errors.New("its front matter has no description")
	errDescriptionLong = fmt.Errorf("its description has more than %d characters: only its beginning is shown", maxDescription)
)

// Skill is a file that explains how a kind of work is done.
type Skill struct {
	Name        string // 1 to 64 of A-Z, a-z, 0-9, _ and -; no two skills have the same
	Description string // one line of at most 300 characters
	Path        string // relative to the workspace, with slashes
}

// shownSkills are the skills in the prompt.
type shownSkills struct {
	list     []Skill // by name
	hash     string  // of the list; empty if that is
	problems []error
}

// skillFolders are the workspace's folders of skills.
type skillFolders struct {
	names []string // in order
	err   error    // the error of the parent folder
}

// stamps returns the stamps of the skills' files, by name. The stamp of [skillFolder] has the parent folder's error.
func (f skillFolders) stamps(workspace string) []stamp {
	var stamps []stamp
	if f.err != nil {
		stamps = append(stamps, stamp{path: skillFolder, err: f.err})
	}
	for _, name := range f.names {
		file := filepath.Join(skillFolder, name, skillFile)
		stamps = append(stamps, look(file, filepath.Join(workspace, file)))
	}
	return stamps
}

// listSkills lists the skills' folders; with [errTooManySkills] only some of them.
func listSkills(workspace string) skillFolders {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return skillFolders{err: err}
	}
	defer root.Close()
	folder, err := root.Open(skillFolder)
	if err != nil {
		return skillFolders{err: err}
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return skillFolders{err: err}
	}
	if len(entries) > maxEntries {
		return skillFolders{err: errTooManyEntries}
	}
	var found skillFolders
	for _, entry := range entries {
		if !entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			found.names = append(found.names, entry.Name())
		}
	}
	slices.Sort(found.names)
	if len(found.names) > maxSkills {
		found.names, found.err = found.names[:maxSkills], errTooManySkills
	}
	return found
}

// SkillProblems returns why skills of a workspace are not listed, or not in full.
func SkillProblems(workspace string) []error {
	return readSkills(workspace, listSkills(workspace).stamps(workspace)).problems
}

// readSkills reads the files of the stamps. The problems name those that are missing or cut.
func readSkills(workspace string, stamps []stamp) shownSkills {
	var shown shownSkills
	hash := sha256.New()
	for _, stamp := range stamps {
		if stamp.path == skillFolder {
			if !errors.Is(stamp.err, fs.ErrNotExist) {
				shown.problems = append(shown.problems, fmt.Errorf("folder %s: %w", filepath.Join(workspace, skillFolder), reason(stamp.err)))
			}
			continue
		}
		skill, err := readSkill(workspace, stamp.path)
		if err != nil {
			shown.problems = append(shown.problems, fmt.Errorf("skill %s: %w", filepath.Join(workspace, stamp.path), reason(err)))
		}
		if skill.Name != "" {
			shown.list = append(shown.list, skill)
			fmt.Fprintf(hash, "%q %q\n", skill.Name, skill.Description)
		}
	}
	if len(shown.list) > 0 {
		shown.hash = hex.EncodeToString(hash.Sum(nil)[:8])
	}
	return shown
}

// readSkill reads a skill's file, relative to the workspace. With [errDescriptionLong] it still returns a skill.
func readSkill(workspace, path string) (Skill, error) {
	name := filepath.Base(filepath.Dir(path))
	if !skillName().MatchString(name) {
		return Skill{}, errSkillName
	}
	text, err := read(workspace, filepath.Join(workspace, path), maxSkillFile)
	if errors.Is(err, errCut) {
		return Skill{}, errSkillTooLong
	}
	if err != nil {
		return Skill{}, err
	}
	matter, err := parseFrontMatter(text)
	if err != nil {
		return Skill{}, err
	}
	if matter.Name != name {
		return Skill{}, errOtherName
	}
	skill := Skill{Name: name, Description: line(matter.Description), Path: filepath.ToSlash(path)}
	if skill.Description == "" {
		return Skill{}, errNoDescription
	}
	if cut := shorten(skill.Description, maxDescription); cut != skill.Description {
		skill.Description = cut
		return skill, errDescriptionLong
	}
	return skill, nil
}

// frontMatter is the part of a skill's front matter that the host reads.
type frontMatter struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// parseFrontMatter reads the YAML between the first line of a text, which is ---, and the next such line.
func parseFrontMatter(text string) (frontMatter, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return frontMatter{}, errNoFrontMatter
	}
	var source strings.Builder
	for l := range strings.Lines(rest) {
		if strings.TrimRight(l, " \t\n") == "---" {
			var matter frontMatter
			if err := yaml.Load([]byte(source.String()), &matter); err != nil {
				return frontMatter{}, fmt.Errorf("read front matter: %s", line(err.Error()))
			}
			return matter, nil
		}
		source.WriteString(l)
	}
	return frontMatter{}, errNoFrontMatter
}
