import fc from 'fast-check';
import { runs } from './property-runs.ts';

/** What fast-check checks where a test does not say how many cases. */
const CASES = 100;

// Loaded before each test file: a quick run checks a share of these cases too.
fc.configureGlobal(runs(CASES));
