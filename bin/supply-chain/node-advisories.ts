import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { satisfies, validRange } from 'semver';
import { z } from 'zod';
import type { ProductionPackage } from './lockfile.ts';

/** `npm audit` does not know Node.js, which npm's registry has under names that are not the project's. So we keep the list. */
const Id = z.string().regex(/^CVE-\d{4}-\d{4,}$/);
const Version = z.string().regex(/^\d+\.\d+\.\d+$/);
export const NodeAdvisories = z.strictObject({
  source: z.string().min(1),
  /** The day on which the list had all that was published. */
  reviewed: z.iso.date(),
  advisories: z
    .array(
      z.strictObject({
        id: Id,
        severity: z.enum(['high', 'critical']),
        published: z.iso.date(),
        summary: z.string().min(1),
        /** Versions that have it, as npm writes ranges. A line of which nothing is known has it. */
        vulnerable: z.string().refine((range) => validRange(range) !== null, 'is no range'),
        fixedIn: z.array(Version).min(1).readonly(),
      }),
    )
    .readonly(),
  /** Why a version is shipped although an advisory is against it. */
  assessments: z
    .array(
      z.strictObject({
        version: Version,
        id: Id,
        status: z.enum(['not-reachable', 'accepted']),
        reason: z.string().min(1),
      }),
    )
    .readonly(),
});
export type NodeAdvisories = z.infer<typeof NodeAdvisories>;

/** A Node.js that is shipped, and what brings it. */
export interface Runtime {
  readonly from: string;
  readonly version: string;
}

export interface Judged {
  /** What must not be shipped, or must be looked at again. */
  readonly problems: readonly string[];
  /** What is known and assessed. */
  readonly notes: readonly string[];
}

/** The project publishes repairs about once in two months. */
const OLDEST_REVIEW_DAYS = 45;
const DAY_MS = 86_400_000;

export const readNodeAdvisories = (repository: string): NodeAdvisories =>
  NodeAdvisories.parse(
    JSON.parse(readFileSync(join(repository, 'bin/supply-chain/node-advisories.json'), 'utf8')),
  );

/** Every Node.js that is shipped: by npm for each platform, and by the base image. */
export function shippedRuntimes(
  repository: string,
  packages: readonly ProductionPackage[],
): readonly Runtime[] {
  const [, image] =
    /^ARG NODE_IMAGE=node:(\d+\.\d+\.\d+)-/m.exec(readFileSync(join(repository, 'Dockerfile'), 'utf8')) ?? [];
  if (image === undefined) throw new Error('the Dockerfile names no version of Node.js');
  const installed = packages.filter(({ name }) => RUNTIME.test(name));
  return [
    ...installed.map(({ name, version }) => ({ from: name, version })),
    { from: 'the image of the Dockerfile', version: image },
  ];
}

/** npm's packages with a Node.js in them; the group is the platform, e.g. `linux-x64`. */
export const RUNTIME = /^node-(linux-\w+)$/;

/**
 * What the list says of these runtimes. `releasedOn`: the day of what is released (`2026-11-28`), at which the list must not be
 * older than 45 days; `null` where it is not known.
 */
export function judgeRuntimes(
  runtimes: readonly Runtime[],
  { advisories, assessments, reviewed }: NodeAdvisories,
  releasedOn: string | null,
): Judged {
  const problems: string[] = [];
  const notes: string[] = [];
  for (const { from, version } of runtimes)
    for (const { id, severity, summary, vulnerable, fixedIn } of advisories) {
      if (!satisfies(version, vulnerable)) continue;
      const against = `Node.js ${version} (${from}): ${id} (${severity}): ${summary}; fixed in ${fixedIn.join(', ')}.`;
      const assessed = assessments.find((each) => each.version === version && each.id === id);
      if (assessed === undefined) problems.push(against);
      else notes.push(`${against} ${assessed.status}: ${assessed.reason}`);
    }
  for (const { version, id } of assessments)
    if (!runtimes.some((runtime) => runtime.version === version))
      problems.push(
        `The assessment of ${id} for Node.js ${version} is of no use: that version is not shipped.`,
      );
  const ageDays = releasedOn === null ? 0 : (Date.parse(releasedOn) - Date.parse(reviewed)) / DAY_MS;
  if (ageDays > OLDEST_REVIEW_DAYS)
    problems.push(
      `The list of Node.js's advisories is of ${reviewed}, ${ageDays} days before ${releasedOn}; it may be ${OLDEST_REVIEW_DAYS} days old. Bring bin/supply-chain/node-advisories.json up to date.`,
    );
  return { problems, notes };
}
