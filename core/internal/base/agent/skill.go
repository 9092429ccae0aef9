package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/frontmatter"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/sdk/workspace"
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

// SkillProblems returns why skills of a workspace are not listed, or not in full. One that does not exist yet has none.
func SkillProblems(dir string) []error {
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return []error{fmt.Errorf("workspace %s: %w", dir, reason(err))}
	}
	defer folder.Close()
	return skills(dir, folder).problems
}

// skills lists the skills of a workspace. The problems name those that are missing or cut.
func skills(dir string, folder *workspace.Folder) shownSkills {
	var shown shownSkills
	names, err := skillFolders(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		shown.problems = append(shown.problems, fmt.Errorf("folder %s: %w", filepath.Join(dir, skillFolder), reason(err)))
	}
	for _, name := range names {
		file := path.Join(skillFolder, name, skillFile)
		skill, err := readSkill(folder, name, file)
		if err != nil {
			shown.problems = append(shown.problems, fmt.Errorf("skill %s: %w", filepath.Join(dir, file), reason(err)))
		}
		if skill.Name != "" {
			shown.list = append(shown.list, skill)
		}
	}
	shown.hash = hashOf(shown.list)
	return shown
}

// hashOf identifies a list of skills; empty if that is.
func hashOf(list []Skill) string {
	if len(list) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, skill := range list {
		fmt.Fprintf(hash, "%q %q\n", skill.Name, skill.Description)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// only returns the skills that fit the patterns.
func (s shownSkills) only(fit config.Patterns) shownSkills {
	list := s.list
	s.list = nil
	for _, skill := range list {
		if fit.Fit(skill.Name) {
			s.list = append(s.list, skill)
		}
	}
	s.hash = hashOf(s.list)
	return s
}

// skillFolders lists the skills' folders; with [errTooManySkills] only some of them.
func skillFolders(folder *workspace.Folder) (names []string, err error) {
	entries, more, err := folder.List(skillFolder, maxEntries)
	if more {
		err = errTooManyEntries
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		switch {
		case entry.Type().IsRegular(), strings.HasPrefix(entry.Name(), "."):
		case len(names) == maxSkills:
			return names, errTooManySkills
		default:
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// readSkill reads a skill's file. With [errDescriptionLong] it still returns a skill.
func readSkill(folder *workspace.Folder, name, file string) (Skill, error) {
	if !skillName().MatchString(name) {
		return Skill{}, errSkillName
	}
	text, err := text(folder.ReadFile(file, maxSkillFile))
	if errors.Is(err, errCut) {
		return Skill{}, errSkillTooLong
	}
	if err != nil {
		return Skill{}, err
	}
	var matter struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if _, err := frontmatter.Read(text, &matter); err != nil {
		return Skill{}, err
	}
	if matter.Name != name {
		return Skill{}, errOtherName
	}
	skill := Skill{Name: name, Description: line(matter.Description), Path: file}
	if skill.Description == "" {
		return Skill{}, errNoDescription
	}
	if cut := shorten(skill.Description, maxDescription); cut != skill.Description {
		skill.Description = cut
		return skill, errDescriptionLong
	}
	return skill, nil
}
