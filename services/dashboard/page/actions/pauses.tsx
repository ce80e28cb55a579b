import { useState } from 'preact/hooks';
import type { DashboardPauses } from '../../../../schemas/reports/dashboard-actions.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Section, Shown } from '../parts.tsx';
import { pauseReachText } from '../texts.ts';
import { type About, ActionButton, ActionsNote } from './action-button.tsx';

const EVERY_MS = 15_000;
const STOPS = 'Nothing is removed there until somebody resumes it. Decisions are still made and recorded.';

type Pause = DashboardPauses['pauses'][number];
type PausedSelector = About<'pause'>['selector'];

const NOBODY = { clusters: [], nodeNames: [], pools: [], nodeLabels: {} } satisfies PausedSelector;

/** What is paused in the fleet, and what may be. */
export function FleetPauses() {
  const [again, setAgain] = useState(0);
  const onDone = (): void => setAgain((times) => times + 1);
  return (
    <Section id="pauses" heading="What is paused">
      <PauseList path="/api/pauses" again={again} onDone={onDone} nothing="Nothing is paused." />
      <div class="buttons">
        <PauseNodes onDone={onDone} />
      </div>
      <ActionsNote />
    </Section>
  );
}

/** The pauses that hold one node. */
export function NodePauses({ cluster, node }: { readonly cluster: string; readonly node: string }) {
  const [again, setAgain] = useState(0);
  const onDone = (): void => setAgain((times) => times + 1);
  const key = `${cluster}/${node}`;
  return (
    <Section id="pauses" heading="Its pauses">
      <PauseList
        path={`/api/pauses?${new URLSearchParams({ node: key })}`}
        again={again}
        onDone={onDone}
        nothing="It is not paused."
      />
      <div class="buttons">
        <ActionButton
          action="pause"
          label="Pause this node"
          title={`Pause ${key}`}
          about={{ selector: { ...NOBODY, clusters: [cluster], nodeNames: [node] } }}
          onDone={onDone}
        >
          <p>{STOPS}</p>
          <p>The Kubernetes objects of its cluster are not paused.</p>
        </ActionButton>
      </div>
      <ActionsNote />
    </Section>
  );
}

interface PauseListProps {
  readonly path: string;
  readonly again: number;
  readonly onDone: () => void;
  readonly nothing: string;
}

function PauseList({ path, again, onDone, nothing }: PauseListProps) {
  const answered = useAnswer<DashboardPauses>(path, EVERY_MS, again);
  return (
    <Shown answered={answered}>
      {({ pauses }) =>
        pauses.length === 0 ? <p>{nothing}</p> : <PauseTable pauses={pauses} onDone={onDone} />
      }
    </Shown>
  );
}

function PauseTable({ pauses, onDone }: { readonly pauses: readonly Pause[]; readonly onDone: () => void }) {
  return (
    <Table
      rows={pauses}
      keyOf={({ text }) => text}
      columns={[
        ['Paused', 'name', ({ text }) => text],
        ['Since', 'time', ({ sinceMs }) => sinceMs],
        ['By', 'text', ({ by }) => by ?? 'unknown'],
        ['Why', 'text', ({ reason }) => reason],
        ['Action', 'text', (pause) => <ResumeButton pause={pause} onDone={onDone} />],
      ]}
    />
  );
}

const ResumeButton = ({ pause, onDone }: { readonly pause: Pause; readonly onDone: () => void }) => (
  <ActionButton
    action="resume"
    label="Resume"
    title={`Resume ${pause.text}`}
    about={{ selector: pause.selector }}
    onDone={onDone}
  >
    <p>Removals go on there, as far as policies allow and unless another pause holds: {pause.text}.</p>
  </ActionButton>
);

const FIELDS = [
  { field: 'clusters', name: 'Only these clusters' },
  { field: 'nodeNames', name: 'Only nodes whose name matches' },
  { field: 'pools', name: 'Only nodes of these pools' },
] as const;

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** As the verb has it: without any of these the whole fleet. */
function PauseNodes({ onDone }: { readonly onDone: () => void }) {
  const [texts, setTexts] = useState({ clusters: '', nodeNames: '', pools: '' });
  const selector = {
    clusters: listOf(texts.clusters),
    nodeNames: listOf(texts.nodeNames),
    pools: listOf(texts.pools),
    nodeLabels: {},
  };
  return (
    <ActionButton
      action="pause"
      label="Pause …"
      title="Pause the fleet, clusters or nodes"
      about={{ selector }}
      onDone={onDone}
    >
      <p>{STOPS}</p>
      {FIELDS.map(({ field, name }) => (
        <label key={field}>
          {name} (names with commas between them)
          <input
            value={texts[field]}
            maxLength={2_000}
            onInput={(event) => {
              const { value } = event.currentTarget;
              setTexts((before) => ({ ...before, [field]: value }));
            }}
          />
        </label>
      ))}
      <p role="status">{pauseReachText(selector)}</p>
    </ActionButton>
  );
}
