import type { Plan, PlannedObject, TriggeredPlan } from '../../schemas/reports/plan.ts';
import { countedKind } from '../decision/inventory-entries.ts';
import { countedAs } from '../decision/rule-text.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { sizeText } from '../text/size-text.ts';
import { timeText } from '../text/time-text.ts';
import { tableLines } from './text.ts';

/** A plan for people: what goes, what stays, and what it comes to. Names come from elsewhere and are made harmless. */
export const planTable = (plan: Plan): readonly string[] =>
  [headLines(plan), removeLines(plan), keepLines(plan), sumLines(plan), remarkLines(plan)]
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
    .map(printableLine);

function headLines(plan: Plan): readonly string[] {
  const { inventory, policy, reason } = plan;
  const { cluster, node, takenAt } = inventory;
  const held =
    policy === null ? 'no policy' : `policy ${policy.name} (${policy.mode}, profile ${policy.profile})`;
  return [
    `${cluster}/${node} at ${timeText(takenAt.wallTimeMs)}, ${triggerText(plan)}, ${held}`,
    ...(reason === '' ? [] : [`Why: ${withSizes(reason)}.`]),
  ];
}

const triggerText = ({ trigger, triggers }: Plan): string =>
  trigger === 'all' ? `all triggers of the policy (${triggers.length})` : `trigger ${trigger}`;

/** The plan has its figures exactly. */
const withSizes = (reason: string): string =>
  reason.replaceAll(/\b([0-9]+) bytes\b/g, (_, bytes: string) => sizeText(BigInt(bytes)));

const removeLines = ({ remove }: Plan): readonly string[] =>
  remove.length === 0
    ? []
    : tableLines(
        ['REMOVE', 'KIND', 'NAME', 'FREES', 'WHY'],
        remove.map((object, index) => [String(index + 1), ...cellsOf(object, object.freedBytes)]),
      );

const keepLines = ({ keep }: Plan): readonly string[] =>
  keep.length === 0
    ? []
    : tableLines(
        ['KEEP', 'NAME', 'SIZE', 'WHY'],
        keep.map((object) => cellsOf(object, object.sizeBytes)),
      );

const cellsOf = (
  { kind, name, because, rule }: PlannedObject,
  bytes: string | number | null,
): readonly string[] => [kind, name, bytes === null ? '' : sizeText(BigInt(bytes)), `${because} (${rule})`];

function sumLines(plan: Plan): readonly string[] {
  if (plan.status === 'not-planned') return [];
  const { remove, keep, policy } = plan;
  return [
    `Would be removed: ${countsText(remove)}${freedText(plan)}${agelessText(plan)}.`,
    ...triggerLines(plan),
    `Would be kept: ${countsText(keep)}.`,
    ...reasonLines(keep),
    ...(policy?.mode === 'dry-run' && remove.length > 0
      ? [`Policy ${policy.name} says dry-run: while it does, none of this goes.`]
      : []),
  ];
}

function countsText(objects: readonly PlannedObject[]): string {
  if (objects.length === 0) return 'nothing';
  const counts = Map.groupBy(objects, ({ kind }) => kind);
  return [...counts].map(([kind, { length }]) => countedKind(length, kind)).join(', ');
}

/** Before an agent has run, nothing is old enough: that is no answer to what would go. */
function agelessText({ remove, keep, notes }: Plan): string {
  const isAgeless = notes.some(({ rule }) => rule === 'C14') && keep.some(({ rule }) => rule === 'D10');
  return remove.length === 0 && isAgeless
    ? ' yet, since nobody knows how old anything is (--assume-old shows what would go once it is old enough)'
    : '';
}

/** Less than the listed sizes together where images that stay share layers with those that go (M7). */
function freedText({ remove, estimatedBytes }: Plan): string {
  if (remove.every(({ kind }) => kind !== 'image')) return '';
  if (estimatedBytes === '0') return '; the images free nothing: those that stay have the same layers';
  return `; the images free about ${sizeText(BigInt(estimatedBytes))}`;
}

/** What each trigger does alone: of several a line each, of one its aim. */
function triggerLines({ triggers }: Plan): readonly string[] {
  const [only, ...others] = triggers;
  if (only === undefined) return [];
  if (others.length === 0) return aimTexts(only).map((text) => `${text}.`);
  return [
    'By trigger:',
    ...triggers.map((each) => {
      const { trigger, removals, estimatedBytes, reason } = each;
      const freed = estimatedBytes === '0' ? '' : `, about ${sizeText(BigInt(estimatedBytes))}`;
      const what =
        removals === 0 ? `nothing (${withSizes(reason)})` : `${counted(removals, 'object')}${freed}`;
      return `  ${trigger}: ${[what, ...aimTexts(each)].join('. ')}.`;
    }),
  ];
}

function aimTexts({ target, isReached, estimatedBytes }: TriggeredPlan): readonly string[] {
  if (target === null) return [];
  const { filesystem, resource, available, atLeast } = target;
  const text = AMOUNT_TEXTS[resource];
  const missing = BigInt(atLeast) - BigInt(available) - BigInt(estimatedBytes);
  return [
    `Aim: at least ${text(atLeast)} free on ${filesystem}, where ${text(available)} are free now`,
    ...(isReached === false
      ? [
          `The target cannot be reached: once all of this is removed, ${text(String(missing))} are still missing`,
        ]
      : []),
  ];
}

const AMOUNT_TEXTS: Readonly<Record<NonNullable<Plan['target']>['resource'], (amount: string) => string>> = {
  availableBytes: (amount) => sizeText(BigInt(amount)),
  inodesFree: (amount) => `${amount} inodes`,
};

const reasonLines = (keep: readonly PlannedObject[]): readonly string[] =>
  [...Map.groupBy(keep, (object) => `${countedAs(object.because, object)} (${object.rule})`)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, { length }]) => `  ${length} ${reason}`);

const remarkLines = ({ notBelieved, notes }: Plan): readonly string[] => [
  ...notBelieved.map(({ rule, message }) => `Not believed: ${message} (${rule}).`),
  ...notes.map(({ rule, message }) => `Note: ${message} (${rule}).`),
];
