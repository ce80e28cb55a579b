import type { AuditReport } from '../../schemas/reports/audit-report.ts';
import type { ToldLife } from '../../schemas/reports/dashboard-object.ts';
import type { ReportFileForm, ToldReport } from '../../schemas/reports/dashboard-report.ts';
import type { Explained } from '../../schemas/reports/explanation.ts';

/** The words in which verbs tell what they found: the page has no others. */
export interface Wording {
  /** As `fleetgc audit report -o html` tells it. */
  readonly report: (report: AuditReport) => ToldReport;
  /** As `fleetgc audit report -o …` writes it. */
  readonly reportFiles: Readonly<Record<ReportFileForm, (report: AuditReport) => string>>;
  /** As `fleetgc audit explain` tells it. */
  readonly life: (explained: Explained) => ToldLife;
}
