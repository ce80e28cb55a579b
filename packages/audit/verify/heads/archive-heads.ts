import type { ArchiveHead } from '../../../../schemas/events/head.ts';
import { archivedHead, isOfArchive, standingOf } from '../../../archive/heads.ts';
import type { ArchivedHead, ManifestLine } from '../../../archive/manifest.ts';
import type { BelievedHead } from '../../../records/read-heads.ts';
import type { Trust } from '../../../records/trust/trust.ts';
import type { Deviation, Gap } from '../findings.ts';
import { cutTail, neverOnLog, notBelieved, rewritten, strange, unknown } from './archive-findings.ts';

/** What signed heads say of an archive. */
export interface ArchiveHeadsFound {
  readonly deviations: readonly Deviation[];
  readonly gaps: readonly Gap[];
  /** Lines of the manifest that the newest head which is right speaks of; 0 where there is none. */
  readonly provedLines: number;
}

/**
 * Whose copies say which heads there are: the log that still lives, or the archive alone, whose heads can only be taken at
 * their word.
 */
export type HeadsTold = 'by the log' | 'by the archive';

/** Compares an archive with all that its archiver has ever signed of it: heads that were taken by a log first, then those in its manifest. */
export class ArchiveHeadsCheck {
  readonly #lines: readonly ManifestLine[];
  readonly #told: HeadsTold;
  /** When the log took heads of this archive, by their signatures. */
  readonly #takenAtMs = new Map<string, number>();
  readonly #deviations: Deviation[] = [];
  /** Lines with heads that the log does not have. */
  readonly #strangers: number[] = [];
  /** The one that reaches least far of those that are wrong, and farthest of the others. */
  #wrong: ArchiveHead | null = null;
  #cut: ArchiveHead | null = null;
  #right: ArchiveHead | null = null;
  /** The last head of another archive. */
  #other: ArchiveHead | null = null;

  constructor(lines: readonly ManifestLine[], told: HeadsTold) {
    this.#lines = lines;
    this.#told = told;
  }

  /** A head of a log. */
  take({ event, record }: BelievedHead): void {
    if (event.type !== 'fleetgc.archive-head') return;
    if (!isOfArchive(event, this.#lines)) this.#other = event;
    else {
      this.#takenAtMs.set(record.headers.ce_fleetgcsignature ?? '', record.timestampMs);
      this.#compare(event);
    }
  }

  /**
   * Each head in the archive has to speak of the lines before it, and to lie on the log: it went there first. Of an archive alone
   * nobody can ask that, as the last one has no copy on `gc.heads` in it yet.
   */
  finish(trust: Trust): ArchiveHeadsFound {
    for (const [at, line] of this.#lines.entries()) if (line.kind === 'head') this.#takeOwn(line, at, trust);
    const deviations = [
      ...this.#deviations,
      ...(this.#strangers.length === 0 ? [] : [neverOnLog(this.#strangers)]),
      ...(this.#wrong === null ? [] : [rewritten(this.#wrong, this.#lines)]),
      ...(this.#cut === null ? [] : [cutTail(this.#cut, this.#lines)]),
    ];
    const isUnknown = this.#told === 'by the log' && this.#takenAtMs.size === 0 && deviations.length === 0;
    return {
      deviations,
      gaps: isUnknown ? [unknown(this.#other)] : [],
      provedLines: this.#right?.lines ?? 0,
    };
  }

  #takeOwn(line: ArchivedHead, at: number, trust: Trust): void {
    const takenAtMs = this.#takenAtMs.get(line.headers.ce_fleetgcsignature ?? '');
    if (this.#told === 'by the log' && takenAtMs === undefined) {
      this.#strangers.push(at);
      return;
    }
    const event = archivedHead(line, at, trust, takenAtMs);
    if (event === null) this.#deviations.push(notBelieved(at));
    else if (!isOfArchive(event, this.#lines) || event.lines !== at) this.#deviations.push(strange(at));
    else this.#compare(event);
  }

  #compare(event: ArchiveHead): void {
    const standing = standingOf(event, this.#lines);
    if (standing === 'cut') this.#cut = farther(this.#cut, event);
    else if (standing === 'right') this.#right = farther(this.#right, event);
    else this.#wrong = this.#wrong !== null && this.#wrong.lines <= event.lines ? this.#wrong : event;
  }
}

const farther = (one: ArchiveHead | null, other: ArchiveHead): ArchiveHead =>
  one !== null && one.lines >= other.lines ? one : other;
