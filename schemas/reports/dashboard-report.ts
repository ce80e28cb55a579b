import { z } from 'zod';

/*
 * What the JSON API of `fleetgc dashboard` answers about its weekly report. Times are epoch milliseconds by the log's own clock.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** A name is given as it is, also where it looks like markup. */
const Cell = z.union([z.string(), z.object({ name: z.string() })]);

/** A report in words, as `fleetgc audit report -o html` has them. */
export const ToldReport = z.object({
  introduction: z.array(z.string()),
  parts: z.array(
    z.object({
      heading: z.string(),
      text: z.array(z.string()),
      table: z.object({ header: z.array(z.string()), rows: z.array(z.array(Cell)) }).nullable(),
      /** What a plot shows of it; below zero a bar has no length. */
      bars: z.array(z.object({ label: z.string(), value: z.number(), text: z.string() })),
    }),
  ),
});
export type ToldReport = z.infer<typeof ToldReport>;

/** How a reading of the log stands that may take minutes: it is asked again until it is read, or failed. */
export const readingOf = <Value extends z.ZodType>(value: Value) =>
  z.discriminatedUnion('state', [
    /** Others are read before it. */
    z.object({ state: z.literal('waiting'), ahead: Count }),
    /** Parts of the log that are read, of so many. */
    z.object({ state: z.literal('reading'), done: z.number().nonnegative(), of: Count, records: Count }),
    z.object({ state: z.literal('read'), readAtMs: EpochMs, value }),
    z.object({ state: z.literal('failed'), problem: z.string() }),
  ]);

/** The report of a time. */
export const DashboardReport = readingOf(ToldReport);
export type DashboardReport = z.infer<typeof DashboardReport>;

/** The files that a report can be had as: those that `fleetgc audit report -o …` writes. */
export const ReportFileForm = z.enum(['markdown', 'html', 'json', 'ndjson']);
export type ReportFileForm = z.infer<typeof ReportFileForm>;
