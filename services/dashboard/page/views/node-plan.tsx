import { useState } from 'preact/hooks';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardPlan } from '../../../../schemas/reports/dashboard-plan.ts';
import type { PlannedObject } from '../../../../schemas/reports/plan.ts';
import { objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Section, Select, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';

const EVERY_MS = 60_000;
/** More rows than anybody reads make the page slow. */
const SHOWN_AT_FIRST = 25;

interface Named {
  readonly cluster: string;
  readonly node: string;
}

const TRIGGERS = [
  ['periodic', 'as always'],
  ['forced', 'as much as the policy allows'],
  ['eviction:imagefs.available', 'if imagefs had too little space'],
  ['eviction:nodefs.available', 'if nodefs had too little space'],
] as const;

/** What would go next, and why the rest stays: `fleetgc plan` over the newest inventory. */
export function NodePlan({ cluster, node }: Named) {
  const [trigger, setTrigger] = useState('periodic');
  const asked = new URLSearchParams({ cluster, node, trigger });
  const plan = useAnswer<DashboardPlan>(`/api/plan?${asked}`, EVERY_MS);
  return (
    <Section id="plan" heading="What would go next">
      <div class="controls">
        <Select label="Planned" value={trigger} options={TRIGGERS} onChange={setTrigger} />
      </div>
      <Shown answered={plan}>{(value) => <PlanText told={value} />}</Shown>
    </Section>
  );
}

function PlanText({ told }: { readonly told: DashboardPlan }) {
  const { plan, loggedAtMs, removeCount, keepCount, keptBecause } = told;
  return (
    <>
      <p>
        By its inventory of <Time ms={loggedAtMs} />, {policyText(plan)}. {sentence(plan.reason)}
      </p>
      {plan.policy?.mode === 'dry-run' && removeCount > 0 ? (
        <p>The policy says dry-run: while it does, none of this goes.</p>
      ) : null}
      <Objects
        caption={removeCount === 0 ? 'Nothing would go' : `Would go, in this order: ${goingText(told)}`}
        on={nodeOf(plan)}
        objects={plan.remove}
        count={removeCount}
      />
      <Reasons keptBecause={keptBecause} keepCount={keepCount} />
      <details>
        <summary>All that stays</summary>
        <Objects
          caption={`Would stay: ${countText(keepCount)} objects`}
          on={nodeOf(plan)}
          objects={plan.keep}
          count={keepCount}
        />
      </details>
      <Remarks plan={plan} />
    </>
  );
}

const nodeOf = ({ inventory: { cluster, node } }: DashboardPlan['plan']): string => `${cluster}/${node}`;

const policyText = ({ policy }: DashboardPlan['plan']): string =>
  policy === null ? 'under no policy' : `under the policy ${policy.name} (${policy.mode})`;

/** The plan has its figures exactly. */
function sentence(reason: string): string {
  if (reason === '') return '';
  const text = reason.replaceAll(/\b([0-9]+) bytes\b/g, (_, bytes: string) => sizeText(BigInt(bytes)));
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function goingText({ plan, removeCount }: DashboardPlan): string {
  const freed =
    plan.estimatedBytes === '0' ? '' : `; the images free about ${sizeText(BigInt(plan.estimatedBytes))}`;
  return `${countText(removeCount)} objects${freed}`;
}

function Objects({
  caption,
  on,
  objects,
  count,
}: {
  readonly caption: string;
  /** `<cluster>/<node>`. */
  readonly on: string;
  readonly objects: readonly PlannedObject[];
  readonly count: number;
}) {
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  if (objects.length === 0) return <p class="quiet">{caption}.</p>;
  const shown = objects.slice(0, most);
  return (
    <>
      <Table
        caption={caption}
        rows={shown}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        columns={[
          ['Kind', 'text', ({ kind }) => kind],
          ['Name', 'text', ({ kind, id, name }) => <a href={objectAddress(kind, id, on)}>{name}</a>],
          ['Size', 'size', ({ sizeBytes }) => (sizeBytes === null ? '' : BigInt(sizeBytes))],
          ['Why', 'text', ({ because, rule }) => `${because} (${rule})`],
        ]}
      />
      {shown.length < objects.length ? (
        <button type="button" onClick={() => setMost(objects.length)}>
          Show {countText(objects.length)} of {countText(count)}
        </button>
      ) : null}
    </>
  );
}

function Reasons({ keptBecause, keepCount }: Pick<DashboardPlan, 'keptBecause' | 'keepCount'>) {
  if (keepCount === 0) return null;
  return (
    <>
      <h3>Why {countText(keepCount)} objects stay</h3>
      <ul>
        {keptBecause.map(({ because, rule, objects }) => (
          <li key={`${rule} ${because}`}>
            {countText(objects)} {because} ({rule})
          </li>
        ))}
      </ul>
    </>
  );
}

function Remarks({ plan: { notBelieved, notes } }: Pick<DashboardPlan, 'plan'>) {
  const remarks = [
    ...notBelieved.map((remark) => ({ ...remark, what: 'Not believed' })),
    ...notes.map((remark) => ({ ...remark, what: 'Note' })),
  ];
  if (remarks.length === 0) return null;
  return (
    <ul aria-label="Remarks">
      {remarks.map(({ what, rule, message }) => (
        <li key={`${what} ${rule} ${message}`}>
          {what}: {message} ({rule}).
        </li>
      ))}
    </ul>
  );
}
