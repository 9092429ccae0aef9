package store

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"golang.org/x/sys/unix"
)

const (
	// LittleSpace is the free space in bytes below which the host will soon stop.
	LittleSpace = 64 << 20
	// pingTime is how long the store may take for a step when it is asked what is wrong.
	pingTime = 2 * time.Second
)

// Problems implements [health.Source]: what keeps the store from working, and what it could not have delivered.
func (s *Store) Problems(ctx context.Context) (list []health.Report) {
	limited, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if free, known := space(s.dir); s.dir != "" && known && free < LittleSpace {
		list = append(list, health.Report{
			Code: health.DiskFull, Detail: fmt.Sprintf("only %d MB are free for the state folder", free>>20), Advice: wording.AdviceKept,
		})
	}
	err := s.Ping(limited)
	var late []health.Report
	if err == nil {
		late, err = s.undelivered(limited)
	}
	if err != nil {
		if limited.Err() != nil {
			err = fmt.Errorf("no answer within %s", pingTime)
		}
		return append(list, health.Report{Code: health.StoreFails, Detail: err.Error(), Advice: wording.AdviceStore})
	}
	return append(list, late...)
}

// undelivered reports which channels fail to deliver, and what was given up.
func (s *Store) undelivered(ctx context.Context) (list []health.Report, err error) {
	err = s.db.View(ctx).Each(`SELECT channel, MAX(last_error) FROM out_lanes WHERE last_error <> '' GROUP BY channel ORDER BY channel LIMIT ?1 + 0`,
		[]any{engine.MaxRows}, func(rows engine.Rows) error {
			report := health.Report{Code: health.DeliveriesWait, Advice: wording.AdviceDeliveries}
			err := rows.Scan(&report.Subject, &report.Detail)
			list = append(list, report)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("look for deliveries that wait: %w", err)
	}
	dead, err := s.CountDead(ctx)
	if err != nil {
		return nil, err
	}
	if dead > 0 {
		list = append(list, health.Report{Code: health.DeadLetters, Detail: fmt.Sprint(dead), Advice: wording.AdviceDeadLetters})
	}
	return list, nil
}

// space returns the free space in bytes for a folder; false: the system does not tell.
func space(dir string) (free int64, known bool) {
	var disk unix.Statfs_t
	err := unix.Statfs(dir, &disk)
	for errors.Is(err, syscall.EINTR) {
		err = unix.Statfs(dir, &disk)
	}
	if err != nil || disk.Blocks == 0 {
		return 0, false
	}
	return int64(disk.Bavail * uint64(disk.Bsize)), true
}
