package outline

import "slices"

const (
	// maxPeriod is the maximum number of siblings of a repeated group.
	maxPeriod = 8
	// minRepeats is the number of repetitions from which a sequence may be folded.
	minRepeats = 8
	// minHidden is the number of repetitions that a fold must hide at least.
	minHidden = 3
)

// A repeat is a sequence of siblings that repeats. heads are the siblings; each repetition consists
// of period of them.
type repeat struct {
	heads  []int
	period int
}

// repetitions finds the repeats among the children of every line.
func (p *plan) repetitions() []repeat {
	var runs []repeat
	var kids []int
	for i := range p.lines {
		kids = kids[:0]
		for c := i + 1; c < p.lines[i].end; c = p.lines[c].end {
			kids = append(kids, c)
		}
		for a := 0; a+minRepeats <= len(kids); {
			period, length := p.repeatAt(kids[a:])
			if period == 0 {
				a++
				continue
			}
			runs = append(runs, repeat{append([]int(nil), kids[a:a+length]...), period})
			a += length
		}
	}
	return runs
}

// repeatAt returns the shortest period with which kids starts to repeat, and the length of the
// repeated sequence.
func (p *plan) repeatAt(kids []int) (period, length int) {
	for period = 1; period <= maxPeriod; period++ {
		if len(kids) < period*minRepeats {
			break
		}
		k := 0
		for k+period < len(kids) && p.lines[kids[k]].shape == p.lines[kids[k+period]].shape && !p.lines[kids[k]].note {
			k++
		}
		if repeats := (k + period) / period; repeats >= minRepeats {
			return period, repeats * period
		}
	}
	return 0, 0
}

// foldRuns marks as hidden all repetitions that are beyond the first keep ones and not in the
// viewport. It returns the folds by their first line.
func (p *plan) foldRuns(runs []repeat, keep int, hidden []bool) map[int]fold {
	folds := make(map[int]fold)
	for _, r := range runs {
		if hidden[r.heads[0]] {
			continue // inside a repetition that is itself folded
		}
		start := -1
		flush := func(at int) {
			if start >= 0 && (at-start)/r.period >= minHidden {
				first, end := r.heads[start], p.lines[r.heads[at-1]].end
				f := fold{end: end, count: (at - start) / r.period, depth: p.lines[first].depth}
				if r.period == 1 {
					f.role = p.lines[first].role()
				}
				for j := first; j < end; j++ {
					hidden[j] = true
				}
				folds[first] = f
			}
			start = -1
		}
		keep := keep
		if r.period == 1 && p.isOption(r.heads[0]) {
			keep = min(keep, maxListed)
		}
		for k := 0; k < len(r.heads); k += r.period {
			if k < keep*r.period || p.anyInViewport(r.heads[k], p.lines[r.heads[k+r.period-1]].end) {
				flush(k)
			} else if start < 0 {
				start = k
			}
		}
		flush(len(r.heads))
	}
	return folds
}

// isOption reports whether a line is an option of a list.
func (p *plan) isOption(i int) bool {
	n := p.lines[i].node
	return n != nil && n.Role == "option"
}

// longLists returns the sequences of more than maxListed options.
func (p *plan) longLists() (runs []repeat) {
	count := 0
	for i := range p.lines {
		if p.isOption(i) {
			count++
		}
	}
	if count <= maxListed {
		return nil
	}
	return slices.DeleteFunc(p.repetitions(), func(r repeat) bool { return r.period != 1 || !p.isOption(r.heads[0]) })
}

// anyInViewport reports whether one of the lines is in the viewport.
func (p *plan) anyInViewport(first, end int) bool {
	for i := first; i < end; i++ {
		if p.lines[i].inViewport() {
			return true
		}
	}
	return false
}
