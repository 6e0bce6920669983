//go:build !unix

package testlog

import (
	"testing"
	"time"
)

// childrenTime returns 0: the system does not report it.
func childrenTime(*testing.T) time.Duration { return 0 }
