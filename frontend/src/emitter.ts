/** Who wants to know is told: the smallest of events, typed. */

export class Emitter<Events extends object> {
  private readonly listeners = new Map<keyof Events, Set<(value: never) => void>>();

  on<Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void): void {
    const known = this.listeners.get(name) ?? new Set();
    known.add(listener as (value: never) => void);
    this.listeners.set(name, known);
  }

  emit<Name extends keyof Events>(name: Name, value: Events[Name]): void {
    for (const listener of this.listeners.get(name) ?? []) (listener as (value: Events[Name]) => void)(value);
  }
}
