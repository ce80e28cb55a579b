import { useEffect, useState } from 'preact/hooks';
import type { SimulationSums } from '../../../../schemas/reports/audit-simulation.ts';
import type {
  DashboardSimulation,
  DashboardSimulations,
  SimulationOutcome,
  SimulationStanding,
} from '../../../../schemas/reports/dashboard-policies.ts';
import { addressOfKey } from '../addresses.ts';
import { send, useAnswer, useNews, useRole } from '../asking.ts';
import { Table } from '../document.tsx';
import { Section, Select, Shown, Time } from '../parts.tsx';
import { countText, spanText, usedText } from '../texts.ts';

const EVERY_MS = 30_000;
const DAYS = [1, 2, 3, 7, 14];

interface SimulationsProps {
  readonly name: string;
  readonly text: string;
  readonly isValid: boolean;
}

/** Tries the text on the recorded past, beside the policies in force. */
export function Simulations({ name, text, isValid }: SimulationsProps) {
  const isOperator = useRole() === 'operator';
  const [days, setDays] = useState(1);
  const [problem, setProblem] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const { simulations, again } = useSimulations();
  const start = async (): Promise<void> => {
    const asked = await send<{ readonly id: string }>(`/api/policies/simulate?days=${days}`, text);
    setProblem(asked.kind === 'refused' ? asked.problem : null);
    if (asked.kind === 'answered') setChosen(asked.value.id);
    again();
  };
  const own = simulations.filter(({ policies }) => policies.includes(name));
  const shown = chosen ?? own.find(({ state }) => state === 'done')?.id ?? null;
  return (
    <Section id="simulations" heading="What it would have done">
      <div class="controls">
        <Select
          label="On the last"
          value={String(days)}
          options={DAYS.map((each) => [String(each), each === 1 ? '1 day' : `${each} days`])}
          onChange={(text) => setDays(Number(text))}
        />
        <button type="button" disabled={!isValid || !isOperator} onClick={start}>
          Simulate
        </button>
      </div>
      {isOperator ? null : <p>Only operators may simulate: days of the event log are read for it.</p>}
      <p class="quiet">
        Nothing is applied, and no node is asked. It is compared with the policies in force, as{' '}
        <code>fleetgc audit simulate --against</code> does.
      </p>
      {problem === null ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <SimulationList simulations={own} chosen={shown} onChoose={setChosen} onChanged={again} />
      {shown === null ? null : (
        <Chosen key={shown} id={shown} state={own.find(({ id }) => id === shown)?.state} />
      )}
    </Section>
  );
}

/** All of this process, as they go on. */
function useSimulations(): {
  readonly simulations: readonly SimulationStanding[];
  readonly again: () => void;
} {
  const [asked, setAsked] = useState(0);
  const again = (): void => setAsked((times) => times + 1);
  const answered = useAnswer<DashboardSimulations>('/api/simulations', EVERY_MS, asked);
  const [simulations, setSimulations] = useState<readonly SimulationStanding[]>([]);
  useEffect(() => {
    if (answered.kind === 'answered') setSimulations(answered.value.simulations);
  }, [answered]);
  useNews('simulations', (news) => setSimulations(news.simulations), again);
  return { simulations, again };
}

const STATES: Readonly<Record<SimulationStanding['state'], string>> = {
  waiting: 'waits for others',
  running: 'under way',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

function SimulationList({
  simulations,
  chosen,
  onChoose,
  onChanged,
}: {
  readonly simulations: readonly SimulationStanding[];
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
  readonly onChanged: () => void;
}) {
  if (simulations.length === 0) return null;
  const cancel = async (id: string): Promise<void> => {
    await send(`/api/policies/cancel?${new URLSearchParams({ id })}`, '');
    onChanged();
  };
  return (
    <ul class="simulations" aria-label="Simulations">
      {simulations.map((simulation) => {
        const { id, state, days, by, askedAtMs } = simulation;
        const isOpen = state === 'waiting' || state === 'running';
        return (
          <li key={id}>
            <Time ms={askedAtMs} /> by {by}, {days === 1 ? '1 day' : `${days} days`}: {STATES[state]}
            <Progress simulation={simulation} />
            {isOpen ? (
              <button type="button" onClick={() => cancel(id)}>
                Cancel
              </button>
            ) : null}
            {state === 'done' ? (
              <button type="button" aria-pressed={id === chosen} onClick={() => onChoose(id)}>
                Show
              </button>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

function Progress({ simulation: { state, progress, problem } }: { readonly simulation: SimulationStanding }) {
  if (problem !== null) return <span class="bad"> {problem}</span>;
  if (state !== 'running' || progress === null) return null;
  const { done, of, records } = progress;
  return (
    <>
      {' '}
      <progress max={of} value={done} aria-label="How far it is" /> {records.toLocaleString('en')} records
    </>
  );
}

function Chosen({
  id,
  state,
}: {
  readonly id: string;
  readonly state: SimulationStanding['state'] | undefined;
}) {
  if (state !== 'done') return null;
  return <Answered id={id} />;
}

function Answered({ id }: { readonly id: string }) {
  const answered = useAnswer<DashboardSimulation>(`/api/simulation?${new URLSearchParams({ id })}`, null);
  return (
    <Shown answered={answered}>
      {({ outcome }) => (outcome === null ? null : <SimulationResult outcome={outcome} />)}
    </Shown>
  );
}

/** More rows than anybody reads make the page slow. */
const SHOWN_NODES = 50;
const SHOWN_REGRETS = 20;

interface Sides {
  readonly policy: SimulationSums;
  readonly against: SimulationSums;
}

/** What came of it, beside the policies in force. The sums are those of `fleetgc audit simulate`. */
function SimulationResult({ outcome }: { readonly outcome: SimulationOutcome }) {
  const { simulation, nodeCount, regretCount } = outcome;
  const { total, pools, nodes, regrets, assumptions, read, range } = simulation;
  return (
    <section aria-label="Result of the simulation">
      <p>
        {range.fromMs === null ? null : (
          <>
            From <Time ms={range.fromMs} />
          </>
        )}
        {range.toMs === null ? null : (
          <>
            {' '}
            to <Time ms={range.toMs} />
          </>
        )}
        : {countText(read.inventories - read.incomplete)} complete inventories of {countText(nodeCount)}{' '}
        nodes.
      </p>
      <SumsTable
        caption="In total, and by pool"
        rows={[
          { name: 'all nodes', ...total },
          ...pools.map((pool) => ({ name: pool.pool ?? '(no pool)', ...pool })),
        ]}
      />
      <details>
        <summary>By node</summary>
        <SumsTable
          caption={`The first ${Math.min(SHOWN_NODES, nodes.length)} of ${countText(nodeCount)} nodes`}
          rows={nodes.slice(0, SHOWN_NODES).map((node) => {
            const key = `${node.cluster}/${node.node}`;
            return { name: key, address: addressOfKey(key), ...node };
          })}
        />
      </details>
      {regrets.length === 0 ? null : <Regrets regrets={regrets} count={regretCount} />}
      <details>
        <summary>What a simulation cannot know</summary>
        <ul>
          {assumptions.map((assumption) => (
            <li key={assumption}>{assumption}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

interface Row extends Sides {
  readonly name: string;
  readonly address?: string;
}

/** Each row on both sides. */
const SumsTable = ({ caption, rows }: { readonly caption: string; readonly rows: readonly Row[] }) => (
  <Table
    caption={caption}
    rows={rows.flatMap(({ policy, against, ...row }) => [
      { ...row, side: 'the copy', sums: policy },
      { ...row, side: 'in force', sums: against },
    ])}
    keyOf={({ name, side }) => `${name} ${side}`}
    columns={[
      ['Nodes', 'name', ({ name, address }) => (address === undefined ? name : <a href={address}>{name}</a>)],
      ['Policies', 'text', ({ side }) => side],
      ['Freed', 'size', ({ sums }) => BigInt(sums.freedBytes)],
      ['Images', 'count', ({ sums }) => sums.removed.images],
      ['Regretted', 'count', ({ sums }) => sums.regrets],
      ['Not relieved', 'count', ({ sums }) => sums.unrelieved],
      ['Time above', 'count', ({ sums }) => spanText(sums.aboveMs)],
      ['Highest use', 'count', ({ sums }) => usedText(sums.peakPercent)],
    ]}
  />
);

function Regrets({
  regrets,
  count,
}: {
  readonly regrets: SimulationOutcome['simulation']['regrets'];
  readonly count: number;
}) {
  return (
    <Table
      caption={
        <>
          Images that were soon needed again: {Math.min(SHOWN_REGRETS, regrets.length)} of {countText(count)}
        </>
      }
      rows={regrets.slice(0, SHOWN_REGRETS)}
      keyOf={({ side, cluster, node, imageId, removedAtMs }) =>
        `${side} ${cluster}/${node} ${imageId} ${removedAtMs}`
      }
      columns={[
        ['Policies', 'text', ({ side }) => (side === 'policy' ? 'the copy' : 'in force')],
        [
          'Node',
          'text',
          ({ cluster, node }) => {
            const key = `${cluster}/${node}`;
            return <a href={addressOfKey(key)}>{key}</a>;
          },
        ],
        ['Image', 'text', ({ name }) => name],
        ['Would go', 'time', ({ removedAtMs }) => removedAtMs],
        ['Needed again', 'time', ({ neededAtMs }) => neededAtMs],
      ]}
    />
  );
}
