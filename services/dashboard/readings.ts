import type { Logger } from 'pino';
import { SummedOnce } from '../../packages/read-model/images.ts';
import type { AuditReport } from '../../schemas/reports/audit-report.ts';
import type { Explanation } from '../../schemas/reports/explanation.ts';
import { LongReadings } from './long-readings/long-readings.ts';
import type { Wording } from './wording.ts';

/** What is read of the log itself and may take minutes, one of each at a time; and the words for what was found. */
export class Readings implements Disposable {
  readonly reports: LongReadings<AuditReport>;
  readonly lives: LongReadings<Explanation>;
  readonly images: SummedOnce;
  readonly wording: Wording;

  constructor(wording: Wording, sources: { readonly now: () => number; readonly logger: Logger }) {
    this.wording = wording;
    this.reports = new LongReadings(sources);
    this.lives = new LongReadings(sources);
    this.images = new SummedOnce(sources.now);
  }

  [Symbol.dispose](): void {
    this.reports[Symbol.dispose]();
    this.lives[Symbol.dispose]();
  }
}
