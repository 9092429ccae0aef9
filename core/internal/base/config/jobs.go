package config

// Jobs configures the commands that agents run beside their turns.
type Jobs struct {
	MaxRunning int   // of all sessions; zero: there are none; default 4. Of one person who is no owner, two may run
	MaxOutput  int64 // bytes of the output of each that are kept; default 64 MB
	Memory     int64 // bytes that the processes of each may use; zero: no limit
}

const (
	mostJobs                = 100
	leastOutput, mostOutput = 64 << 10, 16 << 30
	leastMemory, mostMemory = 64 << 20, 4096 << 30
)

func (j *Jobs) block() block {
	return block{path: "jobs", attrs: []attr{
		{"max_running", whole(&j.MaxRunning, 0, mostJobs)},
		{"max_output", size(&j.MaxOutput, leastOutput, mostOutput)},
		{"memory", sizeOrNone(&j.Memory, leastMemory, mostMemory)},
	}}
}
