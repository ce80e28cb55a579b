import { useState } from 'preact/hooks';
import type { DashboardPolicy } from '../../../../schemas/reports/dashboard-policies.ts';
import { addressOfKey } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Fact, Shown } from '../parts.tsx';
import { countText } from '../texts.ts';
import { PolicyEditor } from './policy-editor.tsx';
import { Simulations } from './simulations.tsx';

const EVERY_MS = 30_000;

/** One policy: what it is, a copy to try, and what that copy would have done. */
export function PolicyView({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const subject = query.get('subject') === 'cluster' ? 'cluster' : 'node';
  const answered = useAnswer<DashboardPolicy>(
    `/api/policy?${new URLSearchParams({ subject, name })}`,
    EVERY_MS,
  );
  return (
    <>
      <h1>Policy {name}</h1>
      <Shown answered={answered}>{(policy) => <Policy key={policy.name} policy={policy} />}</Shown>
    </>
  );
}

function Policy({ policy }: { readonly policy: DashboardPolicy }) {
  const { subject, policyVersion, mode, nodes, source, someNodes } = policy;
  const [text, setText] = useState(source);
  const [isValid, setValid] = useState(true);
  return (
    <>
      <dl class="facts">
        <Fact name="Version">{policyVersion}</Fact>
        <Fact name="Mode">{mode}</Fact>
        {nodes === null ? null : (
          <Fact name="Nodes" more={nodes === 0 ? <span class="bad">it holds for no node</span> : undefined}>
            {countText(nodes)}
          </Fact>
        )}
      </dl>
      {someNodes.length === 0 ? null : <NodeLinks keys={someNodes} count={nodes ?? 0} />}
      <PolicyEditor name={policy.name} applied={source} text={text} onText={setText} onValid={setValid} />
      {subject === 'node' ? (
        <Simulations name={policy.name} text={text} isValid={isValid} />
      ) : (
        <p class="quiet">
          A policy for clusters is tried on the recorded past with <code>fleetgc audit simulate</code>.
        </p>
      )}
    </>
  );
}

function NodeLinks({ keys, count }: { readonly keys: readonly string[]; readonly count: number }) {
  return (
    <details>
      <summary>
        {keys.length < count ? `The first ${keys.length} of ${countText(count)} nodes` : 'Its nodes'}
      </summary>
      <ul class="columns">
        {keys.map((key) => (
          <li key={key}>
            <a href={addressOfKey(key)}>{key}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}
