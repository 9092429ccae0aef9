package jobs

import (
	"fmt"
	"hash/crc32"

	"github.com/clawhost/clawhost/core/internal/base/cgroup"
)

// limit limits the memory of a job's processes, of which the given one is the first; zero: there is no limit.
func (j *Jobs) limit(id int64, pid int, memory int64) error {
	if memory == 0 {
		return nil
	}
	place, err := cgroup.Find()
	if err != nil {
		return err
	}
	group := place.Group(j.groupName(id))
	if err := group.Limit(memory); err != nil {
		return err
	}
	return group.Add(pid)
}

// group is the control group of a job. Where the host can make none it is the zero one, which does not exist.
func (j *Jobs) group(id int64) cgroup.Group {
	place, err := cgroup.Find()
	if err != nil {
		return cgroup.Group{}
	}
	return place.Group(j.groupName(id))
}

// groupName is that of a job's control group, beside which there may be those of another host.
func (j *Jobs) groupName(id int64) string {
	return fmt.Sprintf("clawhost-job-%08x-%d", crc32.ChecksumIEEE([]byte(j.options.Folder)), id)
}
