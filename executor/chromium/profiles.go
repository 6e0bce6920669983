package chromium

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// ErrProfileInUse is in the chain of the ErrLaunchFailed for a profile that another process uses.
var ErrProfileInUse error = profiles.ErrInUse

// ProfileInfo describes a persistent profile.
type ProfileInfo struct {
	Name     string
	Bytes    int64     // total size of its files
	LastUsed time.Time // when a browser on it last started or exited; zero if unknown
	InUse    bool      // by a running browser
}

// Profiles lists the persistent profiles in a data directory, by name. An empty dataDir means the
// default.
func Profiles(dataDir string) ([]ProfileInfo, error) {
	list, err := profiles.List(dataDir)
	var all []ProfileInfo
	for _, p := range list {
		all = append(all, ProfileInfo(p))
	}
	return all, err
}

// ResetProfile empties a persistent profile. An empty dataDir means the default. It returns
// ErrBadArgs if the profile does not exist, and an error with ErrProfileInUse if a browser uses it.
func ResetProfile(ctx context.Context, dataDir, name string) error {
	return profiles.Reset(ctx, dataDir, name)
}

// RemoveProfile removes a persistent profile. It returns the errors of ResetProfile.
func RemoveProfile(ctx context.Context, dataDir, name string) error {
	return profiles.Remove(ctx, dataDir, name)
}

// SweepResult is the result of [Sweep].
type SweepResult struct {
	Profiles []string // the removed directories of temporary profiles
	Browsers []int    // the process ids of the terminated orphaned browsers
}

// Sweep removes from a data directory what killed processes left behind: temporary profiles, and
// browsers that run on its profiles. It does not touch what a running process has locked, or
// browsers that this package did not launch. Several processes may sweep the same directory
// concurrently. Each launch sweeps automatically.
//
// It continues after an error, and returns all errors joined.
func Sweep(ctx context.Context, dataDir string) (SweepResult, error) {
	removed, terminated, err := profiles.Sweep(ctx, dataDir)
	return SweepResult{Profiles: removed, Browsers: terminated}, err
}
