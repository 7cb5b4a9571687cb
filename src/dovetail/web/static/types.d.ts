// Written by `make web-types` from the OpenAPI description. Do not edit.
export interface components {
    schemas: {
        /**
         * CostBy
         * @enum {string}
         */
        CostBy: "workload" | "user" | "namespace" | "queue" | "node" | "backend";
        /**
         * NameKind
         * @enum {string}
         */
        NameKind: "workloads" | "nodes" | "queues" | "profiles" | "policies" | "backends" | "namespaces" | "services";
        /**
         * Priority
         * @enum {string}
         */
        Priority: "critical" | "high" | "medium" | "low" | "batch";
        /**
         * TaskState
         * @enum {string}
         */
        TaskState: "pending" | "placed" | "bound" | "running" | "stopping" | "succeeded" | "failed" | "cancelled";
        /**
         * TopologyFormat
         * @enum {string}
         */
        TopologyFormat: "yaml" | "slurm" | "lldp" | "csv" | "kubernetes";
        /**
         * WorkloadState
         * @enum {string}
         */
        WorkloadState: "pending" | "starting" | "running" | "succeeded" | "failed" | "cancelled";
        /** AcceleratorRow */
        AcceleratorRow: {
            /** Model */
            model: string;
            /** Sort */
            sort: string;
        };
        /** AcceptedWorkload */
        AcceptedWorkload: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
        };
        /** AcceptedWorkloads */
        AcceptedWorkloads: {
            /** Accepted */
            accepted: components["schemas"]["AcceptedWorkload"][];
        };
        /**
         * AddedBackend
         * @description `notes`: what else adding it has changed, a sentence each.
         */
        AddedBackend: {
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Source */
            source: string;
            /** Added At */
            added_at: number | null;
            /** State */
            state: string;
            /** Problem */
            problem: string;
            /** Nodes */
            nodes: number;
            /** Tasks */
            tasks: number;
            /** Waiting */
            waiting: number;
            /** Calls */
            calls: number;
            /** Errors */
            errors: number;
            /** Latency P50 S */
            latency_p50_s: number | null;
            /** Latency P99 S */
            latency_p99_s: number | null;
            /** Last Success At */
            last_success_at: number | null;
            /** Last Error At */
            last_error_at: number | null;
            /** Last Error */
            last_error: string;
            /** Capabilities */
            capabilities: string[];
            /** Sees Own Writes */
            sees_own_writes: boolean;
            /** Stale For S */
            stale_for_s: number;
            /** Settings */
            settings: {
                [key: string]: unknown;
            };
            /** Notes */
            notes: string[];
        };
        /**
         * AddedNodes
         * @description `count` more nodes, equal to one that is there (`like`), or with this capacity.
         */
        AddedNodes: {
            /**
             * Count
             * @default 1
             */
            count: number;
            /**
             * Like
             * @default null
             */
            like: string | null;
            /** @default null */
            capacity: components["schemas"]["Capacity"] | null;
            /** Gpus */
            gpus?: components["schemas"]["Gpus"][];
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** Taints */
            taints?: components["schemas"]["Taint"][];
            /**
             * Prefix
             * Format: node-name
             * @default added
             */
            prefix: string;
        };
        /**
         * Adjustment
         * @description While a condition holds, the constraint is switched off, changes its weight, or changes its kind.
         *
         *     It starts when `when` holds and ends when `until` holds; without `until`, when `when` no longer holds.
         */
        Adjustment: {
            /**
             * When
             * Format: expression
             */
            when: string;
            /**
             * Until
             * @default null
             */
            until: string | null;
            /**
             * Off
             * @default false
             */
            off: boolean;
            /**
             * Weight
             * @default null
             */
            weight: number | null;
            /** @default null */
            become: components["schemas"]["ConstraintKind"] | null;
        };
        /**
         * AdminTokenMade
         * @description `token` replaces the one before. `file`: where it lies on the server's machine.
         */
        AdminTokenMade: {
            /** Token */
            token: string;
            /** File */
            file: string;
        };
        /**
         * AdoptWish
         * @description `vm`: the name of a VM that runs on `node` and that others made. `name`: of the workload that it becomes.
         */
        AdoptWish: {
            /**
             * Node
             * Format: node-name
             */
            node: string;
            /** Vm */
            vm: string;
            /**
             * Name
             * Format: name
             */
            name: string;
            /**
             * Namespace
             * Format: name
             * @default default
             */
            namespace: string;
            /**
             * User
             * @default null
             */
            user: string | null;
        };
        /**
         * Affinity
         * @description Affinity (near) or anti-affinity (apart) to other work. With `within` a level (zone, rack, leaf, host…) or a
         *     distance it is required; with a weight it is a preference. `near` alone prefers the closest nodes.
         */
        Affinity: {
            /** @default null */
            near: components["schemas"]["Peers"] | string | null;
            /** @default null */
            apart: components["schemas"]["Peers"] | string | null;
            /**
             * Within
             * @default null
             */
            within: string | null;
            /**
             * Distance
             * @default null
             */
            distance: number | null;
            /**
             * Weight
             * @default null
             */
            weight: number | null;
            /**
             * In Same Region
             * @default null
             */
            in_same_region: ((components["schemas"]["Peers"] | string)[] | components["schemas"]["Peers"] | string) | null;
            /**
             * In Different Regions
             * @default null
             */
            in_different_regions: ((components["schemas"]["Peers"] | string)[] | components["schemas"]["Peers"] | string) | null;
            /**
             * In N Regions
             * @default null
             */
            in_n_regions: ((components["schemas"]["Peers"] | string)[] | components["schemas"]["Peers"] | string) | null;
            /**
             * N
             * @default null
             */
            n: number | null;
        };
        /**
         * After
         * @description Start only after another workload of the same namespace has succeeded, or just ended: see `condition`.
         */
        After: {
            /**
             * Workload
             * Format: name
             */
            workload: string;
            /** @default succeeded */
            condition: components["schemas"]["Condition"];
        };
        /**
         * AgentCall
         * @description A question to the agent, which it answers with `POST /nodes/NAME/calls/ID`. `kind` and what belongs to it:
         *     `logs` (`offset`, `limit`), `log_tail` (`lines`), `log_since` (`at`); about VMs `vms`, `vm_power` (`power`),
         *     `vm_snapshots`, `vm_snapshot`, `vm_revert` and `vm_remove_snapshot` (`name`), `vm_offer` (`name`); about
         *     live migrations `vm_leaving`, `vm_peer` (`leaving`), `vm_expect` (`move`), `vm_send` (`move`, `peer`),
         *     `vm_presence`, `vm_settle` (`number`, `at`). `execute` (`session`, `command`, `input`, `terminal`) and
         *     `attach` (`session`, `input`) are not answered: the agent begins the session.
         */
        AgentCall: {
            /** Id */
            id: string;
            /** Kind */
            kind: string;
            /** Key */
            key: string;
            /** Asked */
            asked: {
                [key: string]: unknown;
            };
        };
        /**
         * AppliedService
         * @description What a definition did, or with `dry_run` would do. `outcome`: created, unchanged, changed (in place) or replaced;
         *     `replaced`: how many replicas are replaced by new ones.
         */
        AppliedService: {
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Outcome */
            outcome: string;
            /** Revision */
            revision: number;
            /** Replaced */
            replaced: number;
            /** Changes */
            changes: components["schemas"]["FieldChangeRow"][];
        };
        /** AppliedServices */
        AppliedServices: {
            /** Services */
            services: components["schemas"]["AppliedService"][];
        };
        /**
         * Arrangement
         * @description All tasks in one domain of `required`; if possible in one of `preferred`, a narrower level; each slice in one
         *     domain of its level. `bandwidth`: what every task can send to the others at the same time.
         */
        Arrangement: {
            /**
             * Required
             * @default null
             */
            required: string | null;
            /**
             * Preferred
             * @default null
             */
            preferred: string | null;
            /** Slices */
            slices?: components["schemas"]["GangSlice"][];
            /**
             * Strategy
             * @default null
             */
            strategy: components["schemas"]["StrategyName"] | string | null;
            /**
             * Bandwidth
             * @default null
             */
            bandwidth: string | null;
        };
        /**
         * AttemptPage
         * @description Newest first. `total`: how many attempts were meant, on this page and others.
         */
        AttemptPage: {
            /** Items */
            items: components["schemas"]["AttemptRow"][];
            /** Total */
            total: number;
        };
        /**
         * AttemptRow
         * @description One attempt to run a task. `state`: how it ended (`failed`, `evicted`, `preempted`, `moved`, …), or the state of
         *     the task for its latest one. An attempt that migrated live is one row for each of its nodes.
         */
        AttemptRow: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** Attempt */
            attempt: number;
            /** Node */
            node: string;
            /** Backend */
            backend: string;
            /** Placed At */
            placed_at: number;
            /** Started At */
            started_at: number | null;
            /** Ended At */
            ended_at: number | null;
            /** State */
            state: string;
            /** Message */
            message: string;
            /** Exit Code */
            exit_code: number | null;
        };
        /**
         * AttentionAnswer
         * @description Worst first. `total`: with those that are not listed.
         */
        AttentionAnswer: {
            /** Items */
            items: components["schemas"]["AttentionItem"][];
            /** Total */
            total: number;
            /** At */
            at: number;
        };
        /**
         * AttentionItem
         * @description `severity`: bad, warn or info. `count`: how many alike it stands for.
         */
        AttentionItem: {
            /** Severity */
            severity: string;
            /** Kind */
            kind: string;
            /** What */
            what: string;
            /** Detail */
            detail: string;
            subject: components["schemas"]["AttentionSubject"];
            /** Count */
            count: number;
            next: components["schemas"]["AttentionStep"];
        };
        /**
         * AttentionStep
         * @description `command`: what to type; `page`: where the dashboard shows it, without the first slash.
         */
        AttentionStep: {
            /** Words */
            words: string;
            /** Command */
            command: string;
            /** Page */
            page: string;
        };
        /**
         * AttentionSubject
         * @description `type`: node, workload, backend, subsystem, namespace, service or cluster. `namespace` is null where a name needs
         *     none.
         */
        AttentionSubject: {
            /** Type */
            type: string;
            /** Name */
            name: string;
            /** Namespace */
            namespace: string | null;
        };
        /**
         * Autoscale
         * @description The number of replicas follows a signal: so many that each has `target` of it. `cpu`: the cores that a replica
         *     uses, as a part of those it asks for. `query`: any number, such as the length of a queue. `requests`: the rate of a
         *     counter. It grows at once, to twice as many at most, and shrinks when the signal was low for `calm`.
         */
        Autoscale: {
            /**
             * Min
             * @default 1
             */
            min: number;
            /** Max */
            max: number;
            /** Target */
            target: number;
            /**
             * Cpu
             * @default null
             */
            cpu: true | null;
            /** @default null */
            query: components["schemas"]["Query"] | null;
            /** @default null */
            requests: components["schemas"]["Scrape"] | null;
            /**
             * Every
             * @description a duration
             * @default 15
             * @example 10m
             */
            every: string | number;
            /**
             * Calm
             * @description a duration
             * @default 300
             * @example 10m
             */
            calm: string | number;
            /**
             * Tolerance
             * @default 0.1
             */
            tolerance: number;
        };
        /**
         * BackendBody
         * @description The kind, and beside it the settings of that kind.
         */
        BackendBody: {
            /**
             * Kind
             * @example simulated
             */
            kind: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * BackendChoice
         * @description The backends that may run it: names or patterns such as `kubernetes/*`.
         */
        BackendChoice: {
            /** Allow */
            allow?: string[];
        };
        /**
         * BackendDetail
         * @description `settings` as they were given, with ••• in place of every secret.
         */
        BackendDetail: {
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Source */
            source: string;
            /** Added At */
            added_at: number | null;
            /** State */
            state: string;
            /** Problem */
            problem: string;
            /** Nodes */
            nodes: number;
            /** Tasks */
            tasks: number;
            /** Waiting */
            waiting: number;
            /** Calls */
            calls: number;
            /** Errors */
            errors: number;
            /** Latency P50 S */
            latency_p50_s: number | null;
            /** Latency P99 S */
            latency_p99_s: number | null;
            /** Last Success At */
            last_success_at: number | null;
            /** Last Error At */
            last_error_at: number | null;
            /** Last Error */
            last_error: string;
            /** Capabilities */
            capabilities: string[];
            /** Sees Own Writes */
            sees_own_writes: boolean;
            /** Stale For S */
            stale_for_s: number;
            /** Settings */
            settings: {
                [key: string]: unknown;
            };
        };
        /**
         * BackendList
         * @description `kinds`: the kinds of backend that the server can add. `total`: of all pages. `counts`: backends of all pages by
         *     state.
         */
        BackendList: {
            /** Items */
            items: components["schemas"]["BackendRow"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
            /** Kinds */
            kinds: string[];
        };
        /**
         * BackendRow
         * @description `state` is that of its circuit breaker: closed (in use), open (not called), half-open, starting or unusable;
         *     `problem` says why. `waiting`: commands whose outcome is not known yet.
         */
        BackendRow: {
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Source */
            source: string;
            /** Added At */
            added_at: number | null;
            /** State */
            state: string;
            /** Problem */
            problem: string;
            /** Nodes */
            nodes: number;
            /** Tasks */
            tasks: number;
            /** Waiting */
            waiting: number;
            /** Calls */
            calls: number;
            /** Errors */
            errors: number;
            /** Latency P50 S */
            latency_p50_s: number | null;
            /** Latency P99 S */
            latency_p99_s: number | null;
            /** Last Success At */
            last_success_at: number | null;
            /** Last Error At */
            last_error_at: number | null;
            /** Last Error */
            last_error: string;
            /** Capabilities */
            capabilities: string[];
        };
        /** BeforeAndAfter */
        BeforeAndAfter: {
            /** Before */
            before: number;
            /** After */
            after: number;
        };
        /**
         * BootDevice
         * @enum {string}
         */
        BootDevice: "disk" | "network" | "cdrom" | "setup" | "default";
        /**
         * BootDeviceBody
         * @description From what it boots: the next time only, or from now on.
         */
        BootDeviceBody: {
            /** @example network */
            device: components["schemas"]["BootDevice"];
            /**
             * Once
             * @default true
             */
            once: boolean;
        };
        /**
         * Budget
         * @description What the work of a namespace may cost in a month, in UTC.
         */
        Budget: {
            /** Amount */
            amount: number;
            /**
             * Currency
             * @default USD
             */
            currency: string;
            /** @default warn */
            on_limit: components["schemas"]["OnLimit"];
        };
        /**
         * BudgetRow
         * @description `spent` in `month`, which ends at `ends_at`; `left` is below 0 when it is over. `per_hour`: what the work of the
         *     namespace costs now. `spent_at`: when the rest is spent at that rate, if within the month. `state`: `ok`, `warning`
         *     or `spent`. `in_settings`: it cannot be changed by requests.
         */
        BudgetRow: {
            /** Namespace */
            namespace: string;
            /** Amount */
            amount: number;
            /** Currency */
            currency: string;
            /** On Limit */
            on_limit: string;
            /** State */
            state: string;
            /** Spent */
            spent: number;
            /** Left */
            left: number;
            /** Percent */
            percent: number;
            /** Per Hour */
            per_hour: number;
            /** Month */
            month: string;
            /** Ends At */
            ends_at: number;
            /** Spent At */
            spent_at: number | null;
            /** In Settings */
            in_settings: boolean;
        };
        /**
         * CallAnswer
         * @description `text`, `next_offset` and `ended` answer `logs`; `offset` answers `log_tail` and `log_since`, where null is
         *     nothing; `vms` answers `vms` and `vm_offer`; `snapshots` answers `vm_snapshots`; `leaving`, `peer` and `presence`
         *     answer `vm_leaving`, `vm_peer` and `vm_presence`. `unknown`: the agent does not know
         *     the attempt, or keeps no output of it. `refused`: why what was asked is not done.
         */
        CallAnswer: {
            /**
             * Unknown
             * @default false
             */
            unknown: boolean;
            /**
             * Refused
             * @default
             */
            refused: string;
            /**
             * Vms
             * @default []
             */
            vms: components["schemas"]["SeenVm"][];
            /**
             * Snapshots
             * @default []
             */
            snapshots: components["schemas"]["SeenSnapshot"][];
            /** @default null */
            leaving: components["schemas"]["ToldLeaving"] | null;
            /** @default null */
            peer: components["schemas"]["ToldPeer"] | null;
            /** @default null */
            presence: components["schemas"]["ToldPresence"] | null;
            /**
             * Text
             * @default
             */
            text: string;
            /**
             * Next Offset
             * @default 0
             */
            next_offset: number;
            /**
             * Ended
             * @default false
             */
            ended: boolean;
            /**
             * Offset
             * @default null
             */
            offset: number | null;
        };
        /**
         * Cancellation
         * @description Which workloads: those of `ids`, or those for which everything that is given holds. `match` is a pattern of names
         *     such as `train-*`; `queue` stands for the queues below it as well. `dry_run` only says which. `force`: tasks are
         *     killed without grace.
         */
        Cancellation: {
            /**
             * Ids
             * @default null
             */
            ids: number[] | null;
            /**
             * Namespace
             * @default null
             */
            namespace: string | null;
            /**
             * Match
             * @default null
             */
            match: string | null;
            /**
             * User
             * @default null
             */
            user: string | null;
            /** @default null */
            state: components["schemas"]["WorkloadState"] | null;
            /**
             * Queue
             * @default null
             */
            queue: string | null;
            /**
             * Reason
             * @default cancelled by a user
             */
            reason: string;
            /**
             * Dry Run
             * @default false
             */
            dry_run: boolean;
            /**
             * Force
             * @default false
             */
            force: boolean;
        };
        /**
         * CancelledWorkloads
         * @description Those that were asked to stop, or would be; oldest first.
         */
        CancelledWorkloads: {
            /** Workloads */
            workloads: components["schemas"]["AcceptedWorkload"][];
        };
        /**
         * Capacity
         * @description What a node has.
         */
        Capacity: {
            /**
             * Cpu
             * @description CPU cores
             * @default 0
             * @example 500m
             */
            cpu: string | number;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
            /**
             * Disk
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            disk: string | number;
            /**
             * Gpu
             * @default 0
             */
            gpu: number;
            /**
             * Slots
             * @default 110
             */
            slots: number;
        } & {
            [key: string]: number;
        };
        /** CapacityAnswer */
        CapacityAnswer: {
            /** Total */
            total: number;
            /** By Node */
            by_node: components["schemas"]["NodeFit"][];
            explanation: components["schemas"]["DecisionExplanation"];
            /** Answer */
            answer: string;
        };
        /**
         * CapacityQuestion
         * @description A workload whose name may be left out.
         */
        CapacityQuestion: {
            /**
             * Name
             * Format: name
             * @default capacity
             */
            name: string;
            /**
             * Namespace
             * Format: name
             * @default default
             */
            namespace: string;
            /**
             * User
             * @default null
             */
            user: string | null;
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** @default medium */
            priority: components["schemas"]["Priority"];
            resources?: components["schemas"]["ResourceRequest"];
            limits?: components["schemas"]["Limits"];
            /** Node Selector */
            node_selector?: {
                [key: string]: string | number | boolean;
            };
            node_affinity?: components["schemas"]["NodeAffinity"];
            /** Tolerations */
            tolerations?: components["schemas"]["Toleration"][];
            /** Constraints */
            constraints?: components["schemas"]["Constraint"][];
            /** Policies */
            policies?: string[];
            /** Affinity */
            affinity?: components["schemas"]["Affinity"][];
            /** Spread */
            spread?: components["schemas"]["Spread"][];
            /** Conflicts */
            conflicts?: (components["schemas"]["ConflictSet"] | string)[];
            /** Traffic */
            traffic?: components["schemas"]["Traffic"][];
            backends?: components["schemas"]["BackendChoice"];
            /**
             * Prefer
             * @default null
             */
            prefer: components["schemas"]["PlacePreference"] | components["schemas"]["PreferenceWeights"] | null;
            /** Inputs */
            inputs?: components["schemas"]["DataInput"][];
            /**
             * Scheduler
             * @default null
             */
            scheduler: string | null;
            /**
             * Profile
             * @default null
             */
            profile: string | null;
            /**
             * Queue
             * @default null
             */
            queue: string | null;
            disruption?: components["schemas"]["Disruption"];
            run?: components["schemas"]["Run"];
            /** @default job */
            kind: components["schemas"]["WorkloadKind"];
            /** @default null */
            function: components["schemas"]["FunctionCall"] | null;
            /**
             * Service
             * @default null
             */
            service: string | null;
            /**
             * Replicas
             * @default 1
             */
            replicas: number;
            /**
             * Array
             * @default null
             */
            array: (string | number | boolean) | null;
            /** @default null */
            gang: components["schemas"]["Gang"] | null;
            /** Roles */
            roles?: components["schemas"]["RunRole"][];
            /** @default null */
            topology: components["schemas"]["Arrangement"] | null;
            /**
             * Concurrency
             * @default null
             */
            concurrency: number | null;
            /** After */
            after?: components["schemas"]["After"][];
            deadline?: components["schemas"]["Deadline"];
            /**
             * Retries
             * @default 0
             */
            retries: number;
            /** @default on_failure */
            restart: components["schemas"]["RestartPolicy"];
            /** @default null */
            vm: components["schemas"]["VirtualMachine"] | null;
        };
        /**
         * ChangedAffinity
         * @description The affinity of a service, and the effect of its change.
         */
        ChangedAffinity: {
            /** Namespace */
            namespace: string;
            /** Service */
            service: string;
            /** Kind */
            kind: string;
            /** Nodes */
            nodes: string[];
            /** Required */
            required: boolean;
            /** Policy */
            policy: string;
            /** Version */
            version: number;
            /** Set At */
            set_at: number;
            /** Workloads */
            workloads: number;
            /** Warnings */
            warnings: string[];
            /** Changed */
            changed: boolean;
            /** Reconsidered */
            reconsidered: number;
            /** Violating */
            violating: number;
            /** Violations */
            violations: components["schemas"]["ViolationRow"][];
        };
        /**
         * ChangedPolicy
         * @description A policy, and the effect of its change.
         */
        ChangedPolicy: {
            /** Name */
            name: string;
            /** Version */
            version: number;
            /** Set At */
            set_at: number;
            /** Description */
            description: string;
            applies_to: components["schemas"]["PolicyAttachments"];
            /** In Force */
            in_force: components["schemas"]["ConstraintInForce"][];
            /** Affinity */
            affinity: number;
            /** Spread */
            spread: number;
            /** Conflicts */
            conflicts: number;
            /** Workloads */
            workloads: number;
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
            /** Changed */
            changed: boolean;
            /** Reconsidered */
            reconsidered: number;
            /** Violating */
            violating: number;
            /** Violations */
            violations: components["schemas"]["ViolationRow"][];
        };
        /**
         * ChangedWorkload
         * @description When all its tasks have a node, in seconds from now on; None: not within the horizon, or not submitted.
         */
        ChangedWorkload: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Before S */
            before_s: number | null;
            /** After S */
            after_s: number | null;
        };
        /**
         * ChangedWorkloads
         * @description `items`: the first of them.
         */
        ChangedWorkloads: {
            /** Count */
            count: number;
            /** Items */
            items: components["schemas"]["ChangedWorkload"][];
        };
        /**
         * CheckedConstraint
         * @description If not `ok`, only `error` and `caret` are present. `structure` None: no structure can express the text.
         */
        CheckedConstraint: {
            /** Ok */
            ok: boolean;
            /** Error */
            error?: string;
            /** Caret */
            caret?: string;
            /** Text */
            text?: string;
            /** Structure */
            structure?: {
                [key: string]: unknown;
            } | null;
            /** Reads */
            reads?: string[];
            nodes?: components["schemas"]["SatisfyingNodes"];
        };
        /**
         * ClearedDistances
         * @description How many distances were cleared.
         */
        ClearedDistances: {
            /** Cleared */
            cleared: number;
        };
        /**
         * CloudInit
         * @description What cloud-init in the guest reads at its first boot, on a small disk of its own (NoCloud).
         */
        CloudInit: {
            /** User Data */
            user_data: string;
            /**
             * Network Config
             * @default null
             */
            network_config: string | null;
        };
        /** CloudInstanceList */
        CloudInstanceList: {
            /** Items */
            items: components["schemas"]["CloudInstanceRow"][];
            /** Problems */
            problems: components["schemas"]["CloudProblem"][];
        };
        /**
         * CloudInstanceRow
         * @description A machine with our mark. `known`: false: nobody knows of it, and it will be ended. `cost`: what it has cost since
         *     its launch at today's price. `ends_at`: its owner has announced that it takes it back then.
         */
        CloudInstanceRow: {
            /** Backend */
            backend: string;
            /** Id */
            id: string;
            /** Node */
            node: string;
            /** State */
            state: string;
            /** Type */
            type: string;
            /** Address */
            address: string | null;
            /** Launched At */
            launched_at: number | null;
            /** Ends At */
            ends_at: number | null;
            /** Reason */
            reason: string;
            /** Known */
            known: boolean;
            /** Spot */
            spot: boolean;
            /** Price Per Hour */
            price_per_hour: number | null;
            /** Currency */
            currency: string;
            /** Cost */
            cost: number | null;
            /** Tasks */
            tasks: components["schemas"]["InstanceTask"][];
        };
        /**
         * CloudOfferRow
         * @description A type of machine in one zone. `instance_type`, `region` and `zone` as the cloud names them; empty where machines
         *     have none. The price is for an hour. `offered`: work may be placed there now; else `why_not` says why.
         */
        CloudOfferRow: {
            /** Backend */
            backend: string;
            /** Name */
            name: string;
            /** Instance Type */
            instance_type: string;
            /** Region */
            region: string;
            /** Zone */
            zone: string;
            /** Cpu */
            cpu: number;
            /** Memory */
            memory: number;
            /** Gpus */
            gpus: number;
            /** Gpu Model */
            gpu_model: string;
            /** Price Per Hour */
            price_per_hour: number;
            /** Currency */
            currency: string;
            /** Spot */
            spot: boolean;
            /** Offered */
            offered: boolean;
            /** Why Not */
            why_not: string;
        };
        /**
         * CloudProblem
         * @description A backend that could not be asked.
         */
        CloudProblem: {
            /** Backend */
            backend: string;
            /** Problem */
            problem: string;
        };
        /** ClusterSummary */
        ClusterSummary: {
            nodes: components["schemas"]["NodeCounts"];
            /** Resources */
            resources: {
                [key: string]: components["schemas"]["ResourceUse"];
            };
            /** Workloads */
            workloads: {
                [key: string]: number;
            };
            /** Waiting */
            waiting: number;
            /** Decisions Total */
            decisions_total: number;
            /** Version */
            version: string;
            /** Uptime S */
            uptime_s: number;
        };
        /**
         * Comparison
         * @enum {string}
         */
        Comparison: "eq" | "neq" | "lt" | "le" | "gt" | "ge" | "in" | "not_in" | "exists";
        /**
         * Condition
         * @enum {string}
         */
        Condition: "succeeded" | "finished";
        /**
         * ConflictSet
         * @description Members of a set never share a domain with another workload of the set.
         */
        ConflictSet: {
            /**
             * Set
             * Format: name
             */
            set: string;
            /**
             * Within
             * Format: level
             * @default host
             */
            within: string;
        };
        /**
         * Constraint
         * @description One of `require`, `prefer` and `avoid`. A preference counts with its `weight`. With a `priority` it is required
         *     at first and dropped only if nothing fits, the lowest number first.
         */
        Constraint: {
            /**
             * Name
             * @default null
             */
            name: string | null;
            /**
             * Require
             * @default null
             */
            require: string | components["schemas"]["Structured"] | null;
            /**
             * Prefer
             * @default null
             */
            prefer: string | components["schemas"]["Structured"] | null;
            /**
             * Avoid
             * @default null
             */
            avoid: string | components["schemas"]["Structured"] | null;
            /**
             * Weight
             * @default 1
             */
            weight: number;
            /**
             * Priority
             * @default null
             */
            priority: number | null;
        };
        /**
         * ConstraintInForce
         * @description A constraint as it counts now. `demand`: require, prefer, avoid or off; `asked`: what was written; `because`: why
         *     they differ, otherwise empty.
         */
        ConstraintInForce: {
            /** Field */
            field: string;
            /** Name */
            name: string | null;
            /** Expression */
            expression: string;
            /** Asked */
            asked: string;
            /** Demand */
            demand: string;
            /** Weight */
            weight: number | null;
            /** Priority */
            priority: number | null;
            /** Because */
            because: string;
            /** Since */
            since: number | null;
            /** Adjust */
            adjust: components["schemas"]["PolicyRule"][];
        };
        /**
         * ConstraintKind
         * @enum {string}
         */
        ConstraintKind: "require" | "prefer" | "avoid";
        /**
         * CoreRequirement
         * @description One of the requirements that no node satisfies together. `nodes_alone`: nodes that satisfy this one alone.
         */
        CoreRequirement: {
            /** Requirement */
            requirement: string;
            /** Field */
            field: string;
            /** Nodes Alone */
            nodes_alone: number;
        };
        /** CostDayRow */
        CostDayRow: {
            /** Day */
            day: string;
            /** Currency */
            currency: string;
            /** Work */
            work: number;
            /** Idle */
            idle: number;
        };
        /**
         * CostForecast
         * @description Of one namespace its work; else all nodes, used or not.
         */
        CostForecast: {
            /** Month */
            month: string;
            /** At */
            at: number;
            /** Ends At */
            ends_at: number;
            /** Namespace */
            namespace: string | null;
            /** Items */
            items: components["schemas"]["ForecastRow"][];
        };
        /**
         * CostPage
         * @description Days from `since` to the one before `until`, as far as they are over at `at`. Of each currency the largest first;
         *     `left_off`: how many smaller rows there are. `totals` are of all rows, one for each currency.
         */
        CostPage: {
            /** By */
            by: string;
            /** Since */
            since: string;
            /** Until */
            until: string;
            /** At */
            at: number;
            /** Items */
            items: components["schemas"]["CostRow"][];
            /** Left Off */
            left_off: number;
            /** Totals */
            totals: components["schemas"]["CostTotalRow"][];
        };
        /**
         * CostReport
         * @description One month, as far as it is over at `at`. `budgets` only of the present month.
         */
        CostReport: {
            /** Month */
            month: string;
            /** At */
            at: number;
            /** Totals */
            totals: components["schemas"]["CostTotalRow"][];
            /** Days */
            days: components["schemas"]["CostDayRow"][];
            by: components["schemas"]["CostTables"];
            /** Budgets */
            budgets: components["schemas"]["BudgetRow"][];
        };
        /**
         * CostRow
         * @description `name`: of the workload, user, namespace, queue, node or backend; empty: none, or sums of old months. `idle`:
         *     what nobody used, of nodes and backends. `workload`: its id, 0 for sums of old months.
         */
        CostRow: {
            /** Name */
            name: string;
            /** Currency */
            currency: string;
            /** Cost */
            cost: number;
            /** Idle */
            idle: number | null;
            /** Namespace */
            namespace: string | null;
            /** Workload */
            workload: number | null;
            /** Backend */
            backend: string | null;
        };
        /**
         * CostTables
         * @description By each of these, the largest first; at most 500 rows.
         */
        CostTables: {
            /** Namespace */
            namespace: components["schemas"]["CostRow"][];
            /** User */
            user: components["schemas"]["CostRow"][];
            /** Queue */
            queue: components["schemas"]["CostRow"][];
            /** Workload */
            workload: components["schemas"]["CostRow"][];
            /** Node */
            node: components["schemas"]["CostRow"][];
            /** Backend */
            backend: components["schemas"]["CostRow"][];
        };
        /**
         * CostTotalRow
         * @description `total` is what all nodes cost: `work` and `idle`. Both are null where only some work was asked for.
         */
        CostTotalRow: {
            /** Currency */
            currency: string;
            /** Work */
            work: number;
            /** Idle */
            idle: number | null;
            /** Total */
            total: number | null;
        };
        /**
         * DataInput
         * @description Data that each task reads, where it is (`aws/us-east-1`; empty: here), and how much of it.
         */
        DataInput: {
            /**
             * Place
             * @default
             */
            place: string;
            /**
             * Size
             * @description bytes with a unit
             * @example 64GiB
             */
            size: string | number;
        };
        /**
         * Deadline
         * @description `run_for`: the maximum run time of one attempt; backfilling relies on it. `schedule_within`: tasks that had no
         *     node by then fail with reason `timeout`. `finish_within`: when it should have ended, counted from its submission;
         *     with a preference for low prices it waits for cheap nodes as long as this allows.
         */
        Deadline: {
            /**
             * Run For
             * @default null
             */
            run_for: (string | number) | null;
            /**
             * Schedule Within
             * @default null
             */
            schedule_within: (string | number) | null;
            /**
             * Finish Within
             * @default null
             */
            finish_within: (string | number) | null;
        };
        /** DecisionExplanation */
        DecisionExplanation: {
            /** Outcome */
            outcome: string;
            /** Message */
            message: string;
            /** Profile */
            profile: string;
            /** Nodes */
            nodes: number;
            /** Funnel */
            funnel: components["schemas"]["FilterStep"][];
            /** Weights */
            weights: {
                [key: string]: number;
            };
            /** Best */
            best: components["schemas"]["RankedNode"][];
            /** Shortages */
            shortages: components["schemas"]["ResourceShortage"][];
            /** Eviction */
            eviction: string;
            /** Notes */
            notes: string[];
        };
        /**
         * DecisionPage
         * @description `cursor` continues after the last one; null when there are no more.
         */
        DecisionPage: {
            /** Items */
            items: components["schemas"]["DecisionRow"][];
            /** Cursor */
            cursor: string | null;
        };
        /** DecisionRow */
        DecisionRow: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** Attempt */
            attempt: number;
            /** At */
            at: number;
            /** Node */
            node: string | null;
            /** Outcome */
            outcome: string;
            explanation: components["schemas"]["DecisionExplanation"];
        };
        /**
         * Defragmentation
         * @description What moving tasks would recover: an estimate from trying `tried` of the `movable` tasks.
         */
        Defragmentation: {
            /** Estimate */
            estimate: boolean;
            /** Won Gpus */
            won_gpus: number;
            /** Moves */
            moves: number;
            /** Tried */
            tried: number;
            /** Movable */
            movable: number;
        };
        /**
         * DiscoveredDomain
         * @description `inside`: the domain of the next wider level. `distance`: the mean between two of its nodes.
         */
        DiscoveredDomain: {
            /** Name */
            name: string;
            /** Nodes */
            nodes: string[];
            /** Inside */
            inside: string | null;
            /** Distance */
            distance: number;
        };
        /**
         * DiscoveredLevel
         * @description `gap`: how many times farther clusters of its domains are apart than their nodes.
         */
        DiscoveredLevel: {
            /** Name */
            name: string;
            /** Gap */
            gap: number;
            /** Domains */
            domains: components["schemas"]["DiscoveredDomain"][];
        };
        /**
         * DiscoveredTopology
         * @description Levels found in what `nodes` nodes measured, widest first. `definition`: the same, ready for `PUT /topology`.
         */
        DiscoveredTopology: {
            /** Nodes */
            nodes: number;
            /** Levels */
            levels: components["schemas"]["DiscoveredLevel"][];
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
        };
        /**
         * Disruption
         * @description What may happen to running tasks when more urgent work needs their nodes.
         */
        Disruption: {
            /**
             * Allowed
             * @default true
             */
            allowed: boolean;
            /**
             * Max Unavailable
             * @default null
             */
            max_unavailable: number | null;
            /**
             * Min Run Time
             * @default null
             */
            min_run_time: (string | number) | null;
            /**
             * Checkpoint Every
             * @default null
             */
            checkpoint_every: (string | number) | null;
            /**
             * Grace
             * @default null
             */
            grace: (string | number) | null;
        };
        /**
         * DistanceBetween
         * @description `by_hand`: it was set. `source` is `by_hand`, `described`, `measured`, `estimated` or, where nobody says it,
         *     `by_level`. `level`: the narrowest one with a domain that contains both nodes, or null.
         */
        DistanceBetween: {
            /** From */
            from: string;
            /** To */
            to: string;
            /** Distance */
            distance: number;
            /** By Hand */
            by_hand: boolean;
            /** Source */
            source: string;
            /** Level */
            level: string | null;
            path: components["schemas"]["PathBetween"] | null;
            measured: components["schemas"]["MeasuredDistance"] | null;
        };
        /**
         * DistanceMatrix
         * @description `names`: of domains of `level`, or of nodes where `domain` names one of them or there are no levels. `cells`: of
         *     each name a row. Each domain is represented by a few of its nodes. `left_off`: how many more names there are.
         */
        DistanceMatrix: {
            /** Level */
            level: string | null;
            /** Domain */
            domain: string | null;
            /** Levels */
            levels: string[];
            /** Names */
            names: string[];
            /** Nodes */
            nodes: number[];
            /** Cells */
            cells: components["schemas"]["MatrixCell"][][];
            /** Left Off */
            left_off: number;
        };
        /**
         * DistanceRow
         * @description `distances`: from `node` to each other node, 0 to 100.
         */
        DistanceRow: {
            /** Node */
            node: string;
            /** Distances */
            distances: {
                [key: string]: number;
            };
        };
        /**
         * DistanceWeights
         * @description The weights of latency, bandwidth and loss in the distance between two nodes.
         */
        DistanceWeights: {
            /**
             * Latency
             * @default 50
             */
            latency: number;
            /**
             * Bandwidth
             * @default 40
             */
            bandwidth: number;
            /**
             * Loss
             * @default 10
             */
            loss: number;
        };
        /**
         * DomainRow
         * @description `around`: by wider level, the domain that contains it. `free` counts nodes that take work. `up_mbps`: bandwidth
         *     of its uplinks; `held_mbps`: what gangs hold of it; `free_mbps`: what gangs and other traffic leave.
         */
        DomainRow: {
            /** Level */
            level: string;
            /** Name */
            name: string;
            /** Around */
            around: {
                [key: string]: string;
            };
            /** Nodes */
            nodes: number;
            /** Healthy */
            healthy: number;
            /** Whole Nodes */
            whole_nodes: number;
            /** Whole Gpus */
            whole_gpus: number;
            gpu: components["schemas"]["GpuCount"];
            /** Free */
            free: {
                [key: string]: string;
            };
            /** Capacity */
            capacity: {
                [key: string]: string;
            };
            /** Up Mbps */
            up_mbps: number;
            /** Held Mbps */
            held_mbps: number;
            /** Free Mbps */
            free_mbps: number;
            /** Largest Gang */
            largest_gang: number | null;
        };
        /** DoneMoveRow */
        DoneMoveRow: {
            /** Task */
            task: string;
            /** Name */
            name: string;
            /** Source */
            source: string;
            /** Target */
            target: string;
            /** Benefit */
            benefit: number;
            /** Cost */
            cost: number;
            /** Why */
            why: string;
            /** At */
            at: number;
        };
        /** DriveRow */
        DriveRow: {
            /** Name */
            name: string;
            /** Capacity Bytes */
            capacity_bytes: number | null;
            /** Sort */
            sort: string;
        };
        /**
         * Effect
         * @enum {string}
         */
        Effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
        /**
         * EndpointChanges
         * @description What changed after a version. `full`: this is everything, and what the asker had before is void. Services that
         *     are gone by namespace and name, endpoints by the id of their workload, nodes by name.
         */
        EndpointChanges: {
            /** Version */
            version: number;
            /** Full */
            full: boolean;
            /** Services */
            services: components["schemas"]["ServiceItem"][];
            /** Services Gone */
            services_gone: string[][];
            /** Endpoints */
            endpoints: components["schemas"]["EndpointItem"][];
            /** Endpoints Gone */
            endpoints_gone: number[];
            /** Nodes */
            nodes: components["schemas"]["NodeAddressItem"][];
            /** Nodes Gone */
            nodes_gone: string[];
        };
        /**
         * EndpointItem
         * @description A ready replica. `workload` is its id; `ports`: the number of each by name.
         */
        EndpointItem: {
            /** Namespace */
            namespace: string;
            /** Service */
            service: string;
            /** Index */
            index: number;
            /** Revision */
            revision: number;
            /** Workload */
            workload: number;
            /** Node */
            node: string;
            /** Address */
            address: string;
            /** Ports */
            ports: {
                [key: string]: number;
            };
        };
        /**
         * EndpointRow
         * @description `name`: as it can be typed. `distance`: from the asking node, 0 to 100; null if none asks.
         */
        EndpointRow: {
            /** Namespace */
            namespace: string;
            /** Service */
            service: string;
            /** Index */
            index: number;
            /** Revision */
            revision: number;
            /** Workload */
            workload: number;
            /** Node */
            node: string;
            /** Address */
            address: string;
            /** Ports */
            ports: {
                [key: string]: number;
            };
            /** Name */
            name: string;
            /** Distance */
            distance: number | null;
        };
        /**
         * ExecWish
         * @description `stdin`: what the command reads; nothing if left out. `interactive`: more is sent to `/exec/ID/input`.
         *     `terminal`: the command runs in a terminal of that size.
         */
        ExecWish: {
            /** Command */
            command: (string | number | boolean)[];
            /**
             * Stdin
             * @default
             */
            stdin: string;
            /**
             * Interactive
             * @default false
             */
            interactive: boolean;
            /** @default null */
            terminal: components["schemas"]["TerminalWish"] | null;
        };
        /**
         * ExplainAnswer
         * @description `decision`: the latest stored one. `now`: what the scheduler would decide about pending work at this moment.
         */
        ExplainAnswer: {
            /** Starts At */
            starts_at: number | null;
            /** Starts Early */
            starts_early: number | null;
            /** Starts Late */
            starts_late: number | null;
            /** Core */
            core: components["schemas"]["CoreRequirement"][];
            /** Core Exact */
            core_exact: boolean;
            /** Waits For */
            waits_for: string;
            /** Suggestions */
            suggestions: components["schemas"]["SuggestionRow"][];
            workload: components["schemas"]["WorkloadRow"];
            /** State */
            state: string;
            /** Answer */
            answer: string;
            decision: components["schemas"]["DecisionRow"] | null;
            now: components["schemas"]["DecisionExplanation"] | null;
            /** Position */
            position: number | null;
        };
        /** ExplainedWorkload */
        ExplainedWorkload: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Before S */
            before_s: number | null;
            /** After S */
            after_s: number | null;
            /** Why */
            why: string;
        };
        /** ExplainedWorkloads */
        ExplainedWorkloads: {
            /** Count */
            count: number;
            /** Items */
            items: components["schemas"]["ExplainedWorkload"][];
        };
        /**
         * ExpressionQuestion
         * @description An expression as text or as a structure. Names of workloads in it belong to the namespace. `most_failing`: how
         *     many of the nodes that do not satisfy it are named.
         */
        ExpressionQuestion: {
            /** Expression */
            expression: string | components["schemas"]["Structured"];
            /**
             * Namespace
             * Format: name
             * @default default
             */
            namespace: string;
            /**
             * Most Failing
             * @default 5
             */
            most_failing: number;
        };
        /**
         * FailedPlacements
         * @description Tasks of one workload that could not be started on a node. `reason`: of the last.
         */
        FailedPlacements: {
            /** Workload */
            workload: string;
            /** Times */
            times: number;
            /** Last At */
            last_at: number;
            /** Reason */
            reason: string;
        };
        /** FailingNode */
        FailingNode: {
            /** Node */
            node: string;
            /** Why */
            why: string;
        };
        /**
         * FailureReport
         * @description The nodes that failed, and what is done at once for gangs that lost tasks, one line each.
         */
        FailureReport: {
            /** Level */
            level: string;
            /** Name */
            name: string;
            /** Nodes */
            nodes: string[];
            /** Recoveries */
            recoveries: string[];
        };
        /**
         * FieldChangeRow
         * @description `field`: a path such as `run.image`. The values as they are in JSON, null for what was not there.
         */
        FieldChangeRow: {
            /** Field */
            field: string;
            /** Before */
            before: unknown;
            /** After */
            after: unknown;
        };
        /**
         * FieldProblem
         * @description What is wrong with one field of the request. `accepted`: the values that are allowed; `detail`: lines to show
         *     below the message.
         */
        FieldProblem: {
            /** Source */
            source: string;
            /** Line */
            line: number | null;
            /** Field */
            field: string;
            /** Message */
            message: string;
            /** Accepted */
            accepted?: string[];
            /** Detail */
            detail?: string;
        };
        /** FilterStep */
        FilterStep: {
            /** Filter */
            filter: string;
            /** Remaining */
            remaining: number;
            /** Reason */
            reason: string;
        };
        /**
         * Firmware
         * @description `UEFI_SECURE`: with Secure Boot, so only what is signed boots.
         * @enum {string}
         */
        Firmware: "bios" | "uefi" | "uefi-secure";
        /**
         * Flow
         * @description To whom the task has connected, and how much went each way since the last report.
         */
        Flow: {
            /**
             * Address
             * Format: host
             */
            address: string;
            /** Port */
            port: number;
            /** Sent */
            sent: number;
            /** Received */
            received: number;
        };
        /**
         * ForecastRow
         * @description What the month will have cost: probably `expected`, between `low` and `high` in four of five cases. `per_hour`:
         *     what it costs now. `mean_day`: the mean of the last whole `days`, if there are any; with fewer than three the
         *     range is from nothing more to all going on as it is now.
         */
        ForecastRow: {
            /** Currency */
            currency: string;
            /** Spent */
            spent: number;
            /** Expected */
            expected: number;
            /** Low */
            low: number;
            /** High */
            high: number;
            /** Per Hour */
            per_hour: number;
            /** Mean Day */
            mean_day: number | null;
            /** Days */
            days: number;
        };
        /** FragmentationReport */
        FragmentationReport: {
            /** Tasks Seen */
            tasks_seen: number;
            cluster: components["schemas"]["FragmentedDomain"];
            /** Domains */
            domains: components["schemas"]["FragmentedDomain"][];
            /** Typical */
            typical: components["schemas"]["TypicalTask"][];
            /** Unplaceable Share */
            unplaceable_share: number;
            defragmentation: components["schemas"]["Defragmentation"];
        };
        /**
         * FragmentedDomain
         * @description Of the free GPUs, a typical task on average cannot use `unusable_gpus`, and none can use `useless_gpus`.
         */
        FragmentedDomain: {
            /** Level */
            level: string;
            /** Name */
            name: string;
            /** Gpus */
            gpus: number;
            /** Free Gpus */
            free_gpus: number;
            /** Unusable Gpus */
            unusable_gpus: number;
            /** Useless Gpus */
            useless_gpus: number;
        };
        /**
         * FunctionCall
         * @description A call of a function: its name or ARN, and the JSON value that it is given. `identify`: a payload that is an
         *     object gets the field `dovetail`, with the idempotency key of the attempt and the number of the task.
         */
        FunctionCall: {
            /**
             * Name
             * Format: function-name
             */
            name: string;
            /** @default null */
            payload: components["schemas"]["JsonValue"];
            /**
             * Qualifier
             * @default null
             */
            qualifier: string | null;
            /**
             * Timeout
             * @default null
             */
            timeout: (string | number) | null;
            /**
             * Identify
             * @default true
             */
            identify: boolean;
        };
        /**
         * Gang
         * @description At least `min` tasks start together or none does; other replicas follow when there is capacity. With a `group`,
         *     all workloads of the namespace that name the same group count together. `hold`: if a running gang falls below its
         *     minimum, the other tasks release their nodes; if false, they keep running.
         */
        Gang: {
            /** Min */
            min: number;
            /**
             * Group
             * @default null
             */
            group: string | null;
            /**
             * Hold
             * @default true
             */
            hold: boolean;
        };
        /**
         * GangSlice
         * @description Every `size` consecutive ranks must be in one domain of a level.
         */
        GangSlice: {
            /** Size */
            size: number;
            /**
             * Within
             * Format: level
             */
            within: string;
        };
        /** GpuCount */
        GpuCount: {
            /** Capacity */
            capacity: number;
            /** Free */
            free: number;
        };
        /**
         * Gpus
         * @description `count` equal GPUs in `islands` of equal size (joined by NVLink or similar). `numa`, `addresses` and `uuids`, if
         *     given, have one entry for each GPU, in order.
         */
        Gpus: {
            /** Count */
            count: number;
            /**
             * Model
             * @default null
             */
            model: string | null;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
            /**
             * Islands
             * @default 1
             */
            islands: number;
            /** Numa */
            numa?: number[];
            /** Addresses */
            addresses?: string[];
            /** Uuids */
            uuids?: string[];
        };
        /**
         * GrpcCheck
         * @description Well if the gRPC health service says SERVING, of this `service` or of all.
         */
        GrpcCheck: {
            /**
             * Port
             * @default null
             */
            port: string | number | null;
            /**
             * Service
             * @default
             */
            service: string;
        };
        /**
         * Health
         * @description `startup`: until it is well, the others are not asked; one that never is is started again. `readiness`: a replica
         *     that is unwell gets no traffic. `liveness`: one that is unwell is started again. Without `readiness` a replica is
         *     ready when it has started.
         */
        Health: {
            /** @default null */
            startup: components["schemas"]["HealthCheck"] | null;
            /** @default null */
            readiness: components["schemas"]["HealthCheck"] | null;
            /** @default null */
            liveness: components["schemas"]["HealthCheck"] | null;
        };
        /**
         * HealthCheck
         * @description One way to ask, and how often. After `failures` bad answers in a row a replica counts as unwell, after
         *     `successes` good ones as well. `command` runs where the replica runs; it is well if it exits with 0.
         */
        HealthCheck: {
            /** @default null */
            tcp: components["schemas"]["TcpCheck"] | string | number | null;
            /** @default null */
            http: components["schemas"]["HttpCheck"] | string | null;
            /** @default null */
            grpc: components["schemas"]["GrpcCheck"] | string | number | null;
            /**
             * Command
             * @default null
             */
            command: (string | number | boolean)[] | null;
            /**
             * Every
             * @description a duration
             * @default 5
             * @example 10m
             */
            every: string | number;
            /**
             * Timeout
             * @description a duration
             * @default 2
             * @example 10m
             */
            timeout: string | number;
            /**
             * Successes
             * @default 1
             */
            successes: number;
            /**
             * Failures
             * @default 3
             */
            failures: number;
        };
        /**
         * Heartbeat
         * @description `answers`: the agent waits for its orders (`GET /nodes/NAME/orders`), and answers questions. `moves`: live
         *     migrations to or from this node that the server has not settled (`vm_settle`).
         */
        Heartbeat: {
            /** @default null */
            used: components["schemas"]["MeasuredUse"] | null;
            /**
             * Answers
             * @default false
             */
            answers: boolean;
            /**
             * Tasks
             * @default []
             */
            tasks: components["schemas"]["Reported"][];
            /**
             * Moves
             * @default []
             */
            moves: components["schemas"]["ReportedMove"][];
        };
        /**
         * HistoryPage
         * @description `cursor`: ask for the next page with it as `after`, or as `before` if the newest come first; None after the last
         *     page.
         */
        HistoryPage: {
            /** Items */
            items: components["schemas"]["HistoryRow"][];
            /** Cursor */
            cursor: number | null;
        };
        /**
         * HistoryRow
         * @description One line of the history. `seq` grows with every line and is never reused. `namespace` and `name` are those of the
         *     workload, None if it was forgotten.
         */
        HistoryRow: {
            /** Seq */
            seq: number;
            /** At */
            at: number;
            /** Kind */
            kind: string;
            /** Message */
            message: string;
            /** Workload */
            workload: number | null;
            /** Replica */
            replica: number | null;
            /** Node */
            node: string | null;
            /** Backend */
            backend: string | null;
            /** Namespace */
            namespace: string | null;
            /** Name */
            name: string | null;
        };
        /**
         * HopRule
         * @description A level defined by the maximum number of links between two nodes. Two hosts on one switch: two links.
         */
        HopRule: {
            /**
             * Name
             * Format: name
             */
            name: string;
            /** Hops */
            hops: number;
        };
        /**
         * HttpCheck
         * @description Well if a GET of this path is answered with a status from 200 to 399. `host`: the Host header, if it matters.
         */
        HttpCheck: {
            /**
             * Path
             * Format: url-path
             * @default /
             */
            path: string;
            /**
             * Port
             * @default null
             */
            port: string | number | null;
            /**
             * Host
             * @default null
             */
            host: string | null;
        };
        /**
         * HugePages
         * @enum {string}
         */
        HugePages: "2Mi" | "1Gi";
        /**
         * InputPiece
         * @description `content` (base64), or a new size of the terminal.
         */
        InputPiece: {
            /** Content */
            content: string | null;
            /** Rows */
            rows: number | null;
            /** Columns */
            columns: number | null;
        };
        /**
         * InputPieces
         * @description What a command reads. `next`: the number to ask for next. `ended`: there is no more.
         */
        InputPieces: {
            /** Pieces */
            pieces: components["schemas"]["InputPiece"][];
            /** Next */
            next: number;
            /** Ended */
            ended: boolean;
        };
        /** InstanceTask */
        InstanceTask: {
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replica */
            replica: number;
            /** State */
            state: string;
        };
        /**
         * InventoryGpu
         * @description `links`: how many NVLinks lead to another GPU (its PCI address) or to `switch`. `mig` None: it has no such
         *     mode.
         */
        InventoryGpu: {
            /** Model */
            model: string;
            /** Uuid */
            uuid: string;
            /** Address */
            address: string;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
            /**
             * Island
             * @default 0
             */
            island: number;
            /** Links */
            links?: {
                [key: string]: number;
            };
            /**
             * Mig
             * @default null
             */
            mig: ("on" | "off") | null;
            /** Instances */
            instances?: components["schemas"]["MigInstance"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_BudgetRow_: {
            /** Items */
            items: components["schemas"]["BudgetRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_CloudOfferRow_: {
            /** Items */
            items: components["schemas"]["CloudOfferRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_DomainRow_: {
            /** Items */
            items: components["schemas"]["DomainRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_JoinTokenRow_: {
            /** Items */
            items: components["schemas"]["JoinTokenRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_MetalRow_: {
            /** Items */
            items: components["schemas"]["MetalRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_MetalSensor_: {
            /** Items */
            items: components["schemas"]["MetalSensor"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_NodeDistance_: {
            /** Items */
            items: components["schemas"]["dovetail__responses__network__NodeDistance"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_NodeTask_: {
            /** Items */
            items: components["schemas"]["NodeTask"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_PolicyVersion_: {
            /** Items */
            items: components["schemas"]["PolicyVersion"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_RecentDecision_: {
            /** Items */
            items: components["schemas"]["RecentDecision"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_RecordingRow_: {
            /** Items */
            items: components["schemas"]["RecordingRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_ServiceAffinityRow_: {
            /** Items */
            items: components["schemas"]["ServiceAffinityRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_SessionRow_: {
            /** Items */
            items: components["schemas"]["SessionRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_TrafficRow_: {
            /** Items */
            items: components["schemas"]["TrafficRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_ViolationRow_: {
            /** Items */
            items: components["schemas"]["ViolationRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_VmSnapshotRow_: {
            /** Items */
            items: components["schemas"]["VmSnapshotRow"][];
        };
        /**
         * ItemList
         * @description A list. It is an object and not an array, so that fields can be added beside the items.
         */
        ItemList_str_: {
            /** Items */
            items: string[];
        };
        /**
         * ItemPage
         * @description A list, or a page of it. `total`: of all pages. `counts`: rows of all pages, by their kind or state.
         */
        ItemPage_PolicyDetail_: {
            /** Items */
            items: components["schemas"]["PolicyDetail"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
        };
        /**
         * ItemPage
         * @description A list, or a page of it. `total`: of all pages. `counts`: rows of all pages, by their kind or state.
         */
        ItemPage_ReservationRow_: {
            /** Items */
            items: components["schemas"]["ReservationRow"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
        };
        /**
         * ItemPage
         * @description A list, or a page of it. `total`: of all pages. `counts`: rows of all pages, by their kind or state.
         */
        ItemPage_ServiceRow_: {
            /** Items */
            items: components["schemas"]["ServiceRow"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
        };
        /**
         * ItemPage
         * @description A list, or a page of it. `total`: of all pages. `counts`: rows of all pages, by their kind or state.
         */
        ItemPage_VmRow_: {
            /** Items */
            items: components["schemas"]["VmRow"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
        };
        /**
         * JoinTokenBody
         * @description How many nodes it admits, and for how long.
         */
        JoinTokenBody: {
            /**
             * Uses
             * @default 1
             */
            uses: number;
            /**
             * Ttl
             * @description a duration
             * @default 3600
             * @example 10m
             */
            ttl: string | number;
        };
        /**
         * JoinTokenMade
         * @description `token` is told this once: the server keeps only a digest.
         */
        JoinTokenMade: {
            /** Id */
            id: number;
            /** Made At */
            made_at: number;
            /** Expires At */
            expires_at: number;
            /** Uses Left */
            uses_left: number;
            /** Token */
            token: string;
        };
        /** JoinTokenRow */
        JoinTokenRow: {
            /** Id */
            id: number;
            /** Made At */
            made_at: number;
            /** Expires At */
            expires_at: number;
            /** Uses Left */
            uses_left: number;
        };
        JsonValue: unknown;
        /**
         * LabelMatch
         * @description One comparison of one node label.
         */
        LabelMatch: {
            /**
             * Key
             * Format: label-key
             */
            key: string;
            operator: components["schemas"]["Operator"];
            /** Values */
            values?: (string | number | boolean)[];
        };
        /**
         * LevelRow
         * @description A level of the topology. Bandwidth, latency and loss are those of the uplink of each domain. `outside`: how many
         *     nodes are in no domain of this level.
         */
        LevelRow: {
            /** Name */
            name: string;
            /** Label */
            label: string;
            /** Domains */
            domains: number;
            /** Outside */
            outside: number;
            /** Bandwidth */
            bandwidth: string;
            /** Latency */
            latency: string;
            /** Loss */
            loss: number;
        };
        /**
         * Limits
         * @description The maximum usage of one task, enforced by the backend.
         */
        Limits: {
            /**
             * Cpu
             * @default null
             */
            cpu: (string | number) | null;
            /**
             * Memory
             * @default null
             */
            memory: (string | number) | null;
        };
        /** LoanPart */
        LoanPart: {
            /** Queue */
            queue: string;
            /** Amount */
            amount: number;
        };
        /**
         * LoanRow
         * @description Which queues hold more of a resource than their guarantee, and whose guarantee is idle meanwhile.
         */
        LoanRow: {
            /** Resource */
            resource: string;
            /** Borrowers */
            borrowers: components["schemas"]["LoanPart"][];
            /** Lenders */
            lenders: components["schemas"]["LoanPart"][];
        };
        /**
         * LoginLink
         * @description `path`: to be opened once, below the address of the server. The token stands behind the `#`, which browsers send
         *     to nobody.
         */
        LoginLink: {
            /** Path */
            path: string;
            /** Expires At */
            expires_at: number;
        };
        /**
         * LoginWish
         * @description `token`: of a link, or the admin token.
         */
        LoginWish: {
            /**
             * Token
             * Format: password
             */
            token: string;
        };
        /**
         * MachineInventory
         * @description `virtualisation`: `none`, or the word of systemd-detect-virt. `mps`: the daemon runs that lets processes share a
         *     GPU; None where there is no GPU.
         */
        MachineInventory: {
            /**
             * Kernel
             * @default
             */
            kernel: string;
            /**
             * Virtualisation
             * @default
             */
            virtualisation: string;
            /**
             * Driver
             * @default null
             */
            driver: string | null;
            /**
             * Cuda
             * @default null
             */
            cuda: string | null;
            /**
             * Mps
             * @default null
             */
            mps: boolean | null;
            /** Interfaces */
            interfaces?: components["schemas"]["NetworkInterface"][];
            /** Switches */
            switches?: components["schemas"]["SwitchPort"][];
            /** Gpus */
            gpus?: components["schemas"]["InventoryGpu"][];
        };
        /**
         * MachinePower
         * @description What can be done to the power of a VM. `OFF` asks the guest to shut down, `CUT` does not ask.
         * @enum {string}
         */
        MachinePower: "on" | "off" | "cut" | "reboot" | "reset";
        /**
         * MapDomain
         * @description `level` and `parent` are indices into `levels` and `domains`; parent -1: none.
         */
        MapDomain: {
            /** Name */
            name: string;
            /** Level */
            level: number;
            /** Parent */
            parent: number;
        };
        /**
         * MapLink
         * @description The links up from one domain that a workload's traffic takes: some of its tasks are inside, others outside.
         *     `load`: what is held or used of them, 0 to 1; null where nobody says what they carry.
         */
        MapLink: {
            /** Level */
            level: string;
            /** Name */
            name: string;
            /** Tasks */
            tasks: number;
            /** Up Mbps */
            up_mbps: number | null;
            /** Load */
            load: number | null;
        };
        /**
         * MapNodes
         * @description One entry a node in each list.
         *
         *     row        its number, which stays as long as the node does
         *     domain     index of its narrowest domain, -1: it is in none
         *     backend    index into `backends`
         *     gpu_used   a character for each GPU, by slot: `0` free, `1` to `9` tenths in use, `A` all of it
         *     cpu_share, memory_share   allocated, 0 to 1
         *     health     index into `legend`
         *     tenant     index into `tenants` of the namespace that holds most of it, -1: nobody holds anything
         *     fragment   the share of its free GPUs that typical work cannot use; null where none is free
         *     forecast   the share of its GPUs, or of its cores where it has none, that is expected to be in use in an hour: by
         *                the expected ends of its tasks or, where none is expected, by where its measured use goes; else null
         */
        MapNodes: {
            /** Row */
            row: number[];
            /** Name */
            name: string[];
            /** Domain */
            domain: number[];
            /** Backend */
            backend: number[];
            /** Gpus */
            gpus: number[];
            /** Gpu Used */
            gpu_used: string[];
            /** Cpu Share */
            cpu_share: number[];
            /** Memory Share */
            memory_share: number[];
            /** Health */
            health: number[];
            /** Tenant */
            tenant: number[];
            /** Fragment */
            fragment: (number | null)[];
            /** Forecast */
            forecast: (number | null)[];
        };
        /**
         * MapWorkload
         * @description Where the tasks of one workload are: `row` of nodes, and how many on each. `level`: the narrowest in which all
         *     are, `host` for one node; null where they share none. `traffic_s`: the estimated time of an all-reduce of
         *     `traffic_bytes`, `best_s` on as many nodes behind one switch; null for one node, and where the network is not
         *     described.
         */
        MapWorkload: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Row */
            row: number[];
            /** Tasks */
            tasks: number[];
            /** Level */
            level: string | null;
            /** Domain */
            domain: string | null;
            /** Traffic S */
            traffic_s: number | null;
            /** Best S */
            best_s: number | null;
            /** Traffic Bytes */
            traffic_bytes: number;
            /** Links */
            links: components["schemas"]["MapLink"][];
        };
        /**
         * MatrixCell
         * @description Between nodes of two domains, or two nodes: the mean distance, 0 to 100; None: there are no two nodes. `source`
         *     as of `DistanceBetween`, `mixed` where nodes differ. `age_s`: of the oldest measurement among them.
         */
        MatrixCell: {
            /** Distance */
            distance: number | null;
            /** Source */
            source: string;
            /** Age S */
            age_s: number | null;
        };
        /**
         * MeasuredDistance
         * @description What measurements say about two nodes, also where something else counts. `source` is `measured` or `estimated`;
         *     `error`: of the distance, of an estimate. `rtt_us` is null where no packet came through; the lowest, the median and
         *     the 99th percentile, `loss`, `mbps` and `age_s` are null where nobody measured. `at_least`: the sender could not
         *     send faster.
         */
        MeasuredDistance: {
            /** From */
            from: string;
            /** To */
            to: string;
            /** Distance */
            distance: number;
            /** Source */
            source: string;
            /** Error */
            error: number;
            /** Rtt Us */
            rtt_us: number | null;
            /** Rtt Min Us */
            rtt_min_us: number | null;
            /** Rtt Median Us */
            rtt_median_us: number | null;
            /** Rtt P99 Us */
            rtt_p99_us: number | null;
            /** Loss */
            loss: number | null;
            /** Mbps */
            mbps: number | null;
            /** At Least */
            at_least: boolean;
            /** Age S */
            age_s: number | null;
        };
        /**
         * MeasuredPairList
         * @description `total`: how many there are; the first of them.
         */
        MeasuredPairList: {
            /** Items */
            items: components["schemas"]["MeasuredDistance"][];
            /** Total */
            total: number;
        };
        /**
         * MeasuredPeer
         * @description Packets that were sent to a peer, and the round-trip times of those that were answered.
         */
        MeasuredPeer: {
            /**
             * Node
             * Format: node-name
             */
            node: string;
            /** Sent */
            sent: number;
            /** Rtts Us */
            rtts_us: number[];
        };
        /**
         * MeasuredTaskUse
         * @description What a running task was measured to use, at `measured_at`; None: not measured there. Pressures: the share of ten
         *     seconds in which some process of it waited for CPU, memory or disk. Disk and network count since its start. `gpus`:
         *     how many GPUs it keeps busy.
         */
        MeasuredTaskUse: {
            /** Cpu Cores */
            cpu_cores: number | null;
            /** Memory Bytes */
            memory_bytes: number | null;
            /** Cpu Pressure */
            cpu_pressure: number | null;
            /** Memory Pressure */
            memory_pressure: number | null;
            /** Io Pressure */
            io_pressure: number | null;
            /** Disk Read Bytes */
            disk_read_bytes: number | null;
            /** Disk Written Bytes */
            disk_written_bytes: number | null;
            /** Network Received Bytes */
            network_received_bytes: number | null;
            /** Network Sent Bytes */
            network_sent_bytes: number | null;
            /** Gpus */
            gpus: number | null;
            /** Gpu Memory Bytes */
            gpu_memory_bytes: number | null;
            /** Measured At */
            measured_at: number;
        };
        /**
         * MeasuredTrain
         * @description The bandwidth that a train of packets to a peer saw. `at_least`: the sender could not send faster.
         */
        MeasuredTrain: {
            /**
             * Node
             * Format: node-name
             */
            node: string;
            /** Mbps */
            mbps: number;
            /**
             * At Least
             * @default false
             */
            at_least: boolean;
        };
        /**
         * MeasuredUse
         * @description What is in use on the node, as measured there.
         */
        MeasuredUse: {
            /**
             * Cpu
             * @description CPU cores
             * @default 0
             * @example 500m
             */
            cpu: string | number;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
            /**
             * Disk
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            disk: string | number;
            /**
             * Gpu
             * @default 0
             */
            gpu: number;
            /**
             * Slots
             * @default 0
             */
            slots: number;
        } & {
            [key: string]: number;
        };
        /** MetalBootDevice */
        MetalBootDevice: {
            /** Name */
            name: string;
            /** Device */
            device: string;
            /** Once */
            once: boolean;
        };
        /**
         * MetalDetail
         * @description `inventory` None: it is not known, and `trouble` may say why. `boot_device` None: it is not known.
         */
        MetalDetail: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Rack */
            rack: string | null;
            /** Protocol */
            protocol: string;
            /** Controller */
            controller: string;
            /** Power */
            power: string;
            /** Changing To */
            changing_to: string | null;
            /** Trouble */
            trouble: string;
            /** Answered At */
            answered_at: number | null;
            /** Tasks */
            tasks: number;
            /** Watts */
            watts: number | null;
            inventory: components["schemas"]["MetalInventory"] | null;
            /** Boot Device */
            boot_device: string | null;
        };
        /**
         * MetalInventory
         * @description What the controller says that the machine has; None and empty: it does not say. `firmware`: versions by part.
         */
        MetalInventory: {
            /** Manufacturer */
            manufacturer: string;
            /** Model */
            model: string;
            /** Serial */
            serial: string;
            /** Cpus */
            cpus: number | null;
            /** Cores */
            cores: number | null;
            /** Cpu Model */
            cpu_model: string;
            /** Memory Bytes */
            memory_bytes: number | null;
            /** Drives */
            drives: components["schemas"]["DriveRow"][];
            /** Nics */
            nics: components["schemas"]["NicRow"][];
            /** Accelerators */
            accelerators: components["schemas"]["AcceleratorRow"][];
            /** Firmware */
            firmware: {
                [key: string]: string;
            };
        };
        /**
         * MetalRow
         * @description `power`: `on`, `off`, or `unknown` if its controller never said it. `changing_to`: what it is being powered to.
         *     `trouble`: why its controller cannot be relied on; the machine then takes no new work. `answered_at`: when the
         *     controller last answered.
         */
        MetalRow: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Rack */
            rack: string | null;
            /** Protocol */
            protocol: string;
            /** Controller */
            controller: string;
            /** Power */
            power: string;
            /** Changing To */
            changing_to: string | null;
            /** Trouble */
            trouble: string;
            /** Answered At */
            answered_at: number | null;
            /** Tasks */
            tasks: number;
            /** Watts */
            watts: number | null;
        };
        /**
         * MetalSavings
         * @description `since`: the first day that counts, UTC; None: nothing was counted yet. `money`: by currency.
         */
        MetalSavings: {
            /** Since */
            since: string | null;
            /** Kwh */
            kwh: number;
            /** Money */
            money: {
                [key: string]: number;
            };
            /** Carbon Kg */
            carbon_kg: number | null;
            /** Items */
            items: components["schemas"]["SavingRow"][];
        };
        /**
         * MetalSensor
         * @description `sort`: temperature, fan, power or other. `health`: ok, warning, critical, or empty if it is not said.
         */
        MetalSensor: {
            /** Name */
            name: string;
            /** Sort */
            sort: string;
            /** Value */
            value: number | null;
            /** Unit */
            unit: string;
            /** Health */
            health: string;
        };
        /**
         * MigInstance
         * @description A part of a GPU that programs see as a GPU of its own.
         */
        MigInstance: {
            /** Profile */
            profile: string;
            /** Uuid */
            uuid: string;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
        };
        /**
         * MigrateWish
         * @description `node`: the hypervisor to move to.
         */
        MigrateWish: {
            /**
             * Node
             * Format: node-name
             */
            node: string;
            /**
             * Reason
             * @default migrated by a user
             */
            reason: string;
        };
        /**
         * MoveRow
         * @description `why`: what is better afterwards. `benefit` and `cost`: in parts of a node's capacity or, for a move that brings
         *     a task nearer to those it talks to, in Mbps × distance.
         */
        MoveRow: {
            /** Task */
            task: string;
            /** Name */
            name: string;
            /** Source */
            source: string;
            /** Target */
            target: string;
            /** Benefit */
            benefit: number;
            /** Cost */
            cost: number;
            /** Why */
            why: string;
        };
        /**
         * MovedTask
         * @description A task that runs now and would run on another node, from `at_s` on.
         */
        MovedTask: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replica */
            replica: number;
            /** From */
            from: string;
            /** To */
            to: string;
            /** At S */
            at_s: number;
        };
        /** MovedTasks */
        MovedTasks: {
            /** Count */
            count: number;
            /** Items */
            items: components["schemas"]["MovedTask"][];
        };
        /**
         * NamedWorkloads
         * @description What a name stands for: `workloads` are several only for a `group`, or for the replicas of a
         *     `service` (`namespace/name`), whose name is also the group's. `replica`: the task that was named, if one
         *     was. `typed`: the name as it can be typed from anywhere.
         */
        NamedWorkloads: {
            /** Typed */
            typed: string;
            /** Replica */
            replica: number | null;
            /** Group */
            group: string | null;
            /** Service */
            service: string | null;
            /** Workloads */
            workloads: components["schemas"]["WorkloadRow"][];
        };
        /**
         * NetworkInterface
         * @description `speed_mbps` None: unknown, as for virtual ones.
         */
        NetworkInterface: {
            /** Name */
            name: string;
            /**
             * Mac
             * @default
             */
            mac: string;
            /**
             * Up
             * @default true
             */
            up: boolean;
            /**
             * Speed Mbps
             * @default null
             */
            speed_mbps: number | null;
            /** Addresses */
            addresses?: string[];
        };
        /** NicRow */
        NicRow: {
            /** Name */
            name: string;
            /** Mac */
            mac: string;
            /** Speed Mbps */
            speed_mbps: number | null;
        };
        /**
         * Node
         * @description A node's definition. Cordon, health and usage are state, not definition.
         *
         *     `gpus` lists its GPUs, one group for each sort; `capacity.gpu` is then their number and may be left out.
         *     `address`: where its services are reached. `inventory`: what its agent found in the machine; placement does not read
         *     it. `offer`: what using it costs; without one it costs nothing more.
         */
        Node: {
            /**
             * Name
             * Format: node-name
             */
            name: string;
            /**
             * Backend
             * Format: name
             * @default registered
             */
            backend: string;
            /**
             * Address
             * @default null
             */
            address: string | null;
            capacity?: components["schemas"]["Capacity"];
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** Taints */
            taints?: components["schemas"]["Taint"][];
            /** Kinds */
            kinds?: components["schemas"]["WorkloadKind"][];
            /** Gpus */
            gpus?: components["schemas"]["Gpus"][];
            /** @default null */
            inventory: components["schemas"]["MachineInventory"] | null;
            /** @default null */
            offer: components["schemas"]["Offer"] | null;
        };
        /** NodeAddressItem */
        NodeAddressItem: {
            /** Name */
            name: string;
            /** Address */
            address: string;
        };
        /**
         * NodeAffinity
         * @description Node labels that the task requires (any one of `required`), prefers or avoids.
         */
        NodeAffinity: {
            /** Required */
            required?: components["schemas"]["NodeTerm"][];
            /** Preferred */
            preferred?: components["schemas"]["Preference"][];
            /** Avoided */
            avoided?: components["schemas"]["WeightedTerm"][];
        };
        /**
         * NodeChange
         * @description A label that is null is removed. Taints, if given, replace all taints.
         */
        NodeChange: {
            /**
             * Labels
             * @default {}
             */
            labels: {
                [key: string]: (string | number | boolean) | null;
            };
            /**
             * Taints
             * @default null
             */
            taints: components["schemas"]["Taint"][] | null;
        };
        /**
         * NodeCounts
         * @description Each node counts once. `online`: takes work. `backend_down`: would take work if its backend answered.
         *     `quarantined`: takes no work for a while, because placements kept failing there.
         */
        NodeCounts: {
            /** Total */
            total: number;
            /** Online */
            online: number;
            /** Cordoned */
            cordoned: number;
            /** Quarantined */
            quarantined: number;
            /** Backend Down */
            backend_down: number;
            /** Offline */
            offline: number;
        };
        /**
         * NodeDetail
         * @description `definition`: the body that registers the node, but for its inventory, which agents report. `quarantine` is None
         *     where it is in none.
         */
        NodeDetail: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Status */
            status: string;
            /** Reason */
            reason: string;
            /** Online */
            online: boolean;
            /** Cordoned */
            cordoned: boolean;
            /** Drained */
            drained: boolean;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Taints */
            taints: string[];
            /** Load */
            load: number;
            /** Tasks */
            tasks: number;
            /** Resources */
            resources: {
                [key: string]: components["schemas"]["NodeResource"];
            };
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
            /** Gpus */
            gpus: components["schemas"]["NodeGpu"][];
            inventory: components["schemas"]["NodeInventory"] | null;
            quarantine: components["schemas"]["NodeQuarantine"] | null;
        };
        /** NodeDistances */
        NodeDistances: {
            /** Items */
            items?: components["schemas"]["dovetail__model__network__distance_list__NodeDistance"][];
        };
        /** NodeFit */
        NodeFit: {
            /** Node */
            node: string;
            /** Fits */
            fits: number;
        };
        /**
         * NodeGpu
         * @description One GPU of a node. `used`: thousandths of it that tasks have.
         */
        NodeGpu: {
            /** Slot */
            slot: number;
            /** Model */
            model: string;
            /** Memory */
            memory: number;
            /** Island */
            island: number;
            /** Numa */
            numa: number | null;
            /** Address */
            address: string | null;
            /** Uuid */
            uuid: string | null;
            /** Used */
            used: number;
        };
        /**
         * NodeGpuHardware
         * @description A GPU as its driver describes it. `links`: how many NVLinks lead to another GPU (its PCI address) or to `switch`.
         *     `mig`: on or off; None: it has no such mode.
         */
        NodeGpuHardware: {
            /** Model */
            model: string;
            /** Uuid */
            uuid: string;
            /** Address */
            address: string;
            /** Memory */
            memory: number;
            /** Island */
            island: number;
            /** Links */
            links: {
                [key: string]: number;
            };
            /** Mig */
            mig: string | null;
            /** Instances */
            instances: components["schemas"]["NodeGpuInstance"][];
        };
        /**
         * NodeGpuInstance
         * @description A MIG instance. `memory`: bytes.
         */
        NodeGpuInstance: {
            /** Profile */
            profile: string;
            /** Uuid */
            uuid: string;
            /** Memory */
            memory: number;
        };
        /**
         * NodeInterface
         * @description A network interface. `speed_mbps` None: unknown, as for virtual ones.
         */
        NodeInterface: {
            /** Name */
            name: string;
            /** Mac */
            mac: string;
            /** Up */
            up: boolean;
            /** Speed Mbps */
            speed_mbps: number | null;
            /** Addresses */
            addresses: string[];
        };
        /**
         * NodeInventory
         * @description What the agent found in the machine. `mps`: the daemon runs that lets processes share a GPU; None: no GPU.
         */
        NodeInventory: {
            /** Kernel */
            kernel: string;
            /** Virtualisation */
            virtualisation: string;
            /** Driver */
            driver: string | null;
            /** Cuda */
            cuda: string | null;
            /** Mps */
            mps: boolean | null;
            /** Interfaces */
            interfaces: components["schemas"]["NodeInterface"][];
            /** Switches */
            switches: components["schemas"]["NodeSwitch"][];
            /** Gpus */
            gpus: components["schemas"]["NodeGpuHardware"][];
        };
        /**
         * NodeOrders
         * @description What an agent has to do. `run` and `stop` are repeated until the agent has reported what they ask for. `kill`:
         *     those of `stop` that get no grace. `calls`: questions, each asked once. `version`: of the latest change.
         */
        NodeOrders: {
            /** Run */
            run: components["schemas"]["RunOrder"][];
            /** Stop */
            stop: string[];
            /** Kill */
            kill: string[];
            /** Calls */
            calls: components["schemas"]["AgentCall"][];
            /** Version */
            version: number;
        };
        /**
         * NodePage
         * @description `total`: of all pages. `counts`: nodes by status, whatever statuses were asked for.
         */
        NodePage: {
            /** Items */
            items: components["schemas"]["NodeRow"][];
            /** Total */
            total: number;
            /** Counts */
            counts: {
                [key: string]: number;
            };
        };
        /**
         * NodeQuarantine
         * @description Why a node gets no tasks, from `since` to `until`. `lift`: the command that ends it at once.
         */
        NodeQuarantine: {
            /** Since */
            since: number;
            /** Until */
            until: number;
            /** Failures */
            failures: components["schemas"]["FailedPlacements"][];
            /** Lift */
            lift: string;
        };
        /** NodeRefusal */
        NodeRefusal: {
            /** Filter */
            filter: string;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Eviction */
            eviction: string;
            /** Resource */
            resource?: string;
            /** Needed */
            needed?: string;
            /** Free */
            free?: string;
        };
        /** NodeResource */
        NodeResource: {
            /** Unit */
            unit: string;
            /** Capacity */
            capacity: number;
            /** Allocated */
            allocated: number;
            /** Share */
            share: number;
            /** Reserved */
            reserved: number;
            /** Observed */
            observed: number;
            /** Free */
            free: number;
        };
        /** NodeRow */
        NodeRow: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Status */
            status: string;
            /** Reason */
            reason: string;
            /** Online */
            online: boolean;
            /** Cordoned */
            cordoned: boolean;
            /** Drained */
            drained: boolean;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Taints */
            taints: string[];
            /** Load */
            load: number;
            /** Tasks */
            tasks: number;
            /** Resources */
            resources: {
                [key: string]: components["schemas"]["NodeResource"];
            };
        };
        /**
         * NodeRule
         * @description The nodes that a service should be on (or should not); with `required` it must (or must not).
         */
        NodeRule: {
            /** Nodes */
            nodes: string[];
            /**
             * Required
             * @default false
             */
            required: boolean;
        };
        /**
         * NodeSwitch
         * @description The port of a switch that an interface is plugged into, as LLDP says.
         */
        NodeSwitch: {
            /** Interface */
            interface: string;
            /** Switch */
            switch: string;
            /** Port */
            port: string;
        };
        /** NodeTask */
        NodeTask: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** State */
            state: string;
            /** Attempt */
            attempt: number;
            /** Node */
            node: string | null;
            /** Backend */
            backend: string | null;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Exit Code */
            exit_code: number | null;
            /** Placed At */
            placed_at: number | null;
            /** Started At */
            started_at: number | null;
            /** Finished At */
            finished_at: number | null;
            /** Failures */
            failures: number;
            /** Bind Failures */
            bind_failures: number;
            /** Devices */
            devices: number[];
            use?: components["schemas"]["MeasuredTaskUse"];
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
        };
        /**
         * NodeTerm
         * @description All its matches must hold.
         */
        NodeTerm: {
            /** Match */
            match: components["schemas"]["LabelMatch"][];
        };
        /**
         * NodeTokenMade
         * @description `token` replaces the one that the node had.
         */
        NodeTokenMade: {
            /** Node */
            node: string;
            /** Token */
            token: string;
        };
        /**
         * NoteWish
         * @description `text`: one line.
         */
        NoteWish: {
            /** Text */
            text: string;
        };
        /**
         * Offer
         * @description The price is that of the whole node. `running`: the machine runs now; else it is launched when work is bound to
         *     it, which takes `start_up`. `interruption`: the chance that its owner takes it back within an hour.
         *     `carbon_g_per_kwh` and `watts`: of the node at full load, if they are known.
         */
        Offer: {
            /**
             * Price Per Hour
             * @default 0
             */
            price_per_hour: number;
            /**
             * Currency
             * @default USD
             */
            currency: string;
            /**
             * Running
             * @default true
             */
            running: boolean;
            /**
             * Start Up
             * @description a duration
             * @default 0
             * @example 10m
             */
            start_up: string | number;
            /**
             * Spot
             * @default false
             */
            spot: boolean;
            /**
             * Interruption
             * @default 0
             */
            interruption: number;
            /**
             * Carbon G Per Kwh
             * @default null
             */
            carbon_g_per_kwh: number | null;
            /**
             * Watts
             * @default null
             */
            watts: number | null;
            /**
             * Place
             * @default
             */
            place: string;
        };
        /**
         * OnLimit
         * @description What happens when a budget is spent.
         * @enum {string}
         */
        OnLimit: "warn" | "refuse";
        /**
         * Operator
         * @enum {string}
         */
        Operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
        /**
         * OtherChoice
         * @description None: the task would have found no node.
         */
        OtherChoice: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Node */
            node: string;
            /** Would Be */
            would_be: string | null;
        };
        /** PathBetween */
        PathBetween: {
            /** Hops */
            hops: number;
            /** Latency Us */
            latency_us: number;
            /** Mbps */
            mbps: number;
            /** Headroom Mbps */
            headroom_mbps: number;
            /** Loss */
            loss: number;
        };
        /**
         * Peers
         * @description A selector of tasks: by workload, service or labels. In the same namespace unless others are named (`*`: all).
         */
        Peers: {
            /**
             * Workload
             * @default null
             */
            workload: string | null;
            /**
             * Service
             * @default null
             */
            service: string | null;
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** Match */
            match?: components["schemas"]["LabelMatch"][];
            /** Namespaces */
            namespaces?: (string)[];
        };
        /**
         * PlacePreference
         * @enum {string}
         */
        PlacePreference: "cheapest" | "fastest" | "greenest" | "local-first";
        /**
         * PlanAnswer
         * @description `tasks` that were tried; the first one that fits nowhere ends the list. `over_quota`: the reason, where a limit
         *     of the queue blocks it. `displaces`: tasks to preempt for what does not fit. `communication`: for a gang on several
         *     nodes of a described network. `market`: the places that could run its first task, where it compares them.
         */
        PlanAnswer: {
            /** Core */
            core: components["schemas"]["CoreRequirement"][];
            /** Core Exact */
            core_exact: boolean;
            /** Waits For */
            waits_for: string;
            /** Suggestions */
            suggestions: components["schemas"]["SuggestionRow"][];
            /** Name */
            name: string;
            /** Namespace */
            namespace: string;
            /** Tasks */
            tasks: components["schemas"]["PlannedTaskRow"][];
            /** Placed */
            placed: number;
            /** Unplaced */
            unplaced: number;
            /** Queue */
            queue: string;
            /** Over Quota */
            over_quota: string | null;
            displaces: components["schemas"]["PlannedPreemption"] | null;
            communication?: components["schemas"]["PlannedCommunication"] | null;
            /** Market */
            market?: components["schemas"]["PlannedPlace"][];
            /** Planned At */
            planned_at?: number;
            /** Answer */
            answer: string;
        };
        /**
         * PlannedCommunication
         * @description How long a gang would take to exchange `size_bytes` between its ranks, and how long at best. `busiest`: the link
         *     that limits it.
         */
        PlannedCommunication: {
            /** Ranks */
            ranks: number;
            /** Nodes */
            nodes: number;
            /** Size Bytes */
            size_bytes: number;
            /** All Reduce S */
            all_reduce_s: number;
            /** All Reduce Best S */
            all_reduce_best_s: number;
            /** Algorithm */
            algorithm: string;
            /** All To All S */
            all_to_all_s: number;
            /** All To All Best S */
            all_to_all_best_s: number;
            /** Busiest */
            busiest: string;
            /** Message */
            message: string;
        };
        /**
         * PlannedFailure
         * @description A node, or everything in a domain such as a leaf, fails; it is back after `repair`, or never.
         */
        PlannedFailure: {
            /** Name */
            name: string;
            /**
             * At
             * @description a duration
             * @default 0
             * @example 10m
             */
            at: string | number;
            /**
             * Repair
             * @default null
             */
            repair: (string | number) | null;
        };
        /**
         * PlannedPlace
         * @description Equal nodes that could run a task: what it would cost there, and when it would start and end. `start` is null
         *     where nothing tells when there will be room. `why_not` is empty for the chosen place, unless the task goes there
         *     later.
         */
        PlannedPlace: {
            /** Backend */
            backend: string;
            /** Kind */
            kind: string;
            /** Place */
            place: string;
            /** Spot */
            spot: boolean;
            /** Node */
            node: string;
            /** Nodes */
            nodes: number;
            /** Cost */
            cost: number;
            /** Currency */
            currency: string;
            /** Grams */
            grams: number;
            /** Start */
            start: number | null;
            /** Finish */
            finish: number | null;
            /** Chosen */
            chosen: boolean;
            /** Why Not */
            why_not: string;
        };
        /**
         * PlannedPreemption
         * @description `tasks` tasks of the plan would fit if the victims were preempted.
         */
        PlannedPreemption: {
            /** Tasks */
            tasks: number;
            /** Victims */
            victims: components["schemas"]["VictimRow"][];
        };
        /** PlannedTaskRow */
        PlannedTaskRow: {
            /** Replica */
            replica: number;
            /** Node */
            node: string | null;
            explanation: components["schemas"]["DecisionExplanation"];
        };
        /**
         * Plans
         * @description `errors`: what is wrong with the definitions, where that was asked for; there are no plans then.
         */
        Plans: {
            /** Plans */
            plans: components["schemas"]["PlanAnswer"][];
            /** Errors */
            errors?: components["schemas"]["FieldProblem"][];
        };
        /**
         * PolicyAttachments
         * @description Patterns of namespaces; services and workloads as `NAME` (in every namespace) or `NAMESPACE/NAME`.
         */
        PolicyAttachments: {
            /** Namespaces */
            namespaces: string[];
            /** Services */
            services: string[];
            /** Workloads */
            workloads: string[];
        };
        /**
         * PolicyBody
         * @description A policy whose name may be left out, because the path has it.
         */
        PolicyBody: {
            /**
             * Name
             * Format: name
             * @default
             */
            name: string;
            /**
             * Description
             * Format: prose
             * @default
             */
            description: string;
            /**
             * Require
             * @default null
             */
            require: string | components["schemas"]["Structured"] | null;
            /**
             * Prefer
             * @default null
             */
            prefer: string | components["schemas"]["Structured"] | null;
            /**
             * Avoid
             * @default null
             */
            avoid: string | components["schemas"]["Structured"] | null;
            /**
             * Weight
             * @default null
             */
            weight: number | null;
            /**
             * Priority
             * @default null
             */
            priority: number | null;
            /** Adjust */
            adjust?: components["schemas"]["Adjustment"][];
            /** Constraints */
            constraints?: components["schemas"]["PolicyConstraint"][];
            /** Affinity */
            affinity?: components["schemas"]["Affinity"][];
            /** Spread */
            spread?: components["schemas"]["Spread"][];
            /** Conflicts */
            conflicts?: (components["schemas"]["ConflictSet"] | string)[];
            applies_to?: components["schemas"]["PolicyScope"];
        };
        /**
         * PolicyConstraint
         * @description A constraint with adjustments. Of several active ones, the first counts.
         */
        PolicyConstraint: {
            /**
             * Name
             * @default null
             */
            name: string | null;
            /**
             * Require
             * @default null
             */
            require: string | components["schemas"]["Structured"] | null;
            /**
             * Prefer
             * @default null
             */
            prefer: string | components["schemas"]["Structured"] | null;
            /**
             * Avoid
             * @default null
             */
            avoid: string | components["schemas"]["Structured"] | null;
            /**
             * Weight
             * @default 1
             */
            weight: number;
            /**
             * Priority
             * @default null
             */
            priority: number | null;
            /** Adjust */
            adjust?: components["schemas"]["Adjustment"][];
        };
        /**
         * PolicyDetail
         * @description `workloads`: how many unfinished ones it applies to. `definition`: the body that sets it.
         */
        PolicyDetail: {
            /** Name */
            name: string;
            /** Version */
            version: number;
            /** Set At */
            set_at: number;
            /** Description */
            description: string;
            applies_to: components["schemas"]["PolicyAttachments"];
            /** In Force */
            in_force: components["schemas"]["ConstraintInForce"][];
            /** Affinity */
            affinity: number;
            /** Spread */
            spread: number;
            /** Conflicts */
            conflicts: number;
            /** Workloads */
            workloads: number;
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
        };
        /**
         * PolicyRule
         * @description An adjustment. `then`: its effect while it is `on`; `values`: what its condition read when it began.
         */
        PolicyRule: {
            /** When */
            when: string;
            /** Until */
            until: string | null;
            /** Then */
            then: string;
            /** On */
            on: boolean;
            /** Since */
            since: number | null;
            /** Values */
            values: string;
        };
        /**
         * PolicyScope
         * @description What a policy is attached to: all work in these namespaces, and these services and workloads. A bare name applies
         *     in every namespace, `NAMESPACE/NAME` in that one.
         */
        PolicyScope: {
            /** Namespaces */
            namespaces?: string[];
            /** Services */
            services?: string[];
            /** Workloads */
            workloads?: string[];
        };
        /**
         * PolicyVersion
         * @description `changed`: fields that differ from the version before. `definition` None: this version `removed` the policy.
         */
        PolicyVersion: {
            /** Name */
            name: string;
            /** Version */
            version: number;
            /** At */
            at: number;
            /** Author */
            author: string;
            /** Note */
            note: string;
            /** Definition */
            definition: {
                [key: string]: unknown;
            } | null;
            /** Removed */
            removed: boolean;
            /** Changed */
            changed: string[];
        };
        /**
         * Port
         * @description A port on which each replica listens. Without `port` each replica is given one of its own, in the variable
         *     `PORT_NAME` (and `PORT`, for the first).
         */
        Port: {
            /**
             * Name
             * Format: name
             */
            name: string;
            /**
             * Port
             * @default null
             */
            port: number | null;
            /**
             * Protocol
             * @default tcp
             * @enum {string}
             */
            protocol: "tcp" | "udp";
        };
        /**
         * PowerAction
         * @description `off` cuts the power; `shutdown` asks the operating system. `cycle` cuts it for a moment, `reset` restarts the
         *     machine without that.
         * @enum {string}
         */
        PowerAction: "on" | "off" | "shutdown" | "cycle" | "reset";
        /**
         * PowerBody
         * @description What to do: `off` cuts the power, `shutdown` asks the operating system. `force`: although work runs there.
         */
        PowerBody: {
            action: components["schemas"]["PowerAction"];
            /**
             * Force
             * @default false
             */
            force: boolean;
        };
        /**
         * PowerWish
         * @description `off` and `reboot` ask the guest; `cut` and `reset` do not.
         */
        PowerWish: {
            power: components["schemas"]["MachinePower"];
        };
        /**
         * PreemptionWish
         * @description `tasks`: whom to stop, such as `default/batch-7.0`; a workload stands for all its tasks. `dry_run` only says what
         *     that would do.
         */
        PreemptionWish: {
            /** Tasks */
            tasks: string[];
            /**
             * Dry Run
             * @default false
             */
            dry_run: boolean;
        };
        /**
         * Preference
         * @description A preference. With a `priority` it is required at first and dropped only if nothing fits: the lowest number
         *     first, one priority at a time.
         */
        Preference: {
            /** Match */
            match: components["schemas"]["LabelMatch"][];
            /**
             * Weight
             * @default 1
             */
            weight: number;
            /**
             * Priority
             * @default null
             */
            priority: number | null;
        };
        /**
         * PreferenceWeights
         * @description How much each matters, relative to the others.
         */
        PreferenceWeights: {
            /**
             * Price
             * @default 0
             */
            price: number;
            /**
             * Start
             * @default 0
             */
            start: number;
            /**
             * Carbon
             * @default 0
             */
            carbon: number;
            /**
             * Egress
             * @default 0
             */
            egress: number;
            /**
             * Risk
             * @default 0
             */
            risk: number;
            /**
             * Local
             * @default 0
             */
            local: number;
        };
        /**
         * PreviewQuestion
         * @description Which profile, by name or defined here, and how many of the last decisions to look at.
         */
        PreviewQuestion: {
            /** Profile */
            profile: string | components["schemas"]["ProfileSettings"];
            /**
             * Last
             * @default 100
             */
            last: number;
        };
        /**
         * PreviewedState
         * @description `fragmentation`: the share of all GPUs that is free and of no use to typical work; None without GPUs.
         */
        PreviewedState: {
            /** Nodes In Use */
            nodes_in_use: number;
            /** Empty Nodes */
            empty_nodes: number;
            /** Unusable Gpus */
            unusable_gpus: number;
            /** Fragmentation */
            fragmentation: number | null;
            /** Utilisation */
            utilisation: {
                [key: string]: number;
            };
        };
        /**
         * ProbeKey
         * @description `key`: in hex. It is valid in one epoch.
         */
        ProbeKey: {
            /** Epoch */
            epoch: number;
            /** Key */
            key: string;
        };
        /**
         * ProbeOrders
         * @description What an agent has to measure: `packets` to each peer within `again_s` seconds, after which it reports and asks
         *     again. `keys` are its own, with which it answers probes; without any it does not listen.
         */
        ProbeOrders: {
            /** Again S */
            again_s: number;
            /** Packets */
            packets: number;
            /** Keys */
            keys: components["schemas"]["ProbeKey"][];
            /** Peers */
            peers: components["schemas"]["ProbePeer"][];
            /** Trains */
            trains: components["schemas"]["TrainOrder"][];
        };
        /**
         * ProbePeer
         * @description Whom to probe, and with which key.
         */
        ProbePeer: {
            /** Epoch */
            epoch: number;
            /** Key */
            key: string;
            /** Node */
            node: string;
            /** Address */
            address: string;
            /** Port */
            port: number;
        };
        /**
         * Probes
         * @description Where the agent listens for probes, if it does, and what it measured.
         */
        Probes: {
            /**
             * Address
             * @default null
             */
            address: string | null;
            /**
             * Port
             * @default null
             */
            port: number | null;
            /**
             * Results
             * @default []
             */
            results: components["schemas"]["MeasuredPeer"][];
            /**
             * Trains
             * @default []
             */
            trains: components["schemas"]["MeasuredTrain"][];
        };
        /**
         * ProblemDocument
         * @description A problem document (RFC 9457). `type` names the kind of problem, such as `urn:dovetail:problem:not-found`;
         *     `detail` says what is wrong and what to do; `errors` lists every field that is wrong.
         */
        ProblemDocument: {
            /** Type */
            type: string;
            /** Title */
            title: string;
            /** Status */
            status: number;
            /** Detail */
            detail: string;
            /** Instance */
            instance: string;
            /** Request Id */
            request_id: string;
            /** Errors */
            errors?: components["schemas"]["FieldProblem"][];
        };
        /**
         * ProfilePreview
         * @description `examples`: the first tasks that would have gone elsewhere.
         */
        ProfilePreview: {
            /** Profile */
            profile: string;
            /** Instead Of */
            instead_of: string;
            /** Decisions */
            decisions: number;
            /** Same */
            same: number;
            /** Different */
            different: number;
            /** No Node */
            no_node: number;
            /** Examples */
            examples: components["schemas"]["OtherChoice"][];
            before: components["schemas"]["PreviewedState"];
            after: components["schemas"]["PreviewedState"];
            /** Sentences */
            sentences: string[];
        };
        /** ProfileRow */
        ProfileRow: {
            /** Name */
            name: string;
            /** Default */
            default: boolean;
            /** Built In */
            built_in: boolean;
            /** Order */
            order: string;
            /** Select */
            select: string;
            /** Filters */
            filters: string[];
            /** Scores */
            scores: {
                [key: string]: number;
            };
        };
        /**
         * ProfileSettings
         * @description How nodes are chosen for a workload, and which work goes first.
         */
        ProfileSettings: {
            /**
             * Filters
             * @default []
             */
            filters: string[];
            /**
             * Scores
             * @default {}
             */
            scores: {
                [key: string]: number;
            };
            /**
             * Select
             * @default best
             * @enum {string}
             */
            select: "best" | "round_robin" | "random";
            /**
             * Order
             * Format: name
             * @default priority
             */
            order: string;
            /**
             * Preemption
             * @default true
             */
            preemption: boolean;
            /**
             * Victims
             * @default cheapest
             * @enum {string}
             */
            victims: "cheapest" | "kubernetes";
            /**
             * Settings
             * @default {}
             */
            settings: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
            /**
             * On Filter Error
             * @default refuse
             * @enum {string}
             */
            on_filter_error: "refuse" | "skip";
        };
        /** Profiles */
        Profiles: {
            /** Default */
            default: string;
            /** Profiles */
            profiles: components["schemas"]["ProfileRow"][];
            /** Schedulers */
            schedulers: components["schemas"]["SchedulerRow"][];
        };
        /**
         * PrometheusTargets
         * @description As the HTTP service discovery of Prometheus reads them.
         */
        PrometheusTargets: {
            /** Targets */
            targets: string[];
            /** Labels */
            labels: {
                [key: string]: string;
            };
        };
        /**
         * Query
         * @description A number from elsewhere: the answer to a GET of `url` is a number, or the answer of Prometheus to a query.
         */
        Query: {
            /** Url */
            url: string;
        };
        /**
         * QueueItem
         * @description `position` None: it waits for other work, its own limit or its next try, not for its turn. `promoted_from`: its
         *     priority when it was submitted, if waiting has raised it.
         */
        QueueItem: {
            /** Starts At */
            starts_at: number | null;
            /** Starts Early */
            starts_early: number | null;
            /** Starts Late */
            starts_late: number | null;
            /** Position */
            position: number | null;
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Queue */
            queue: string;
            /** User */
            user: string | null;
            /** Priority */
            priority: string;
            /** Promoted From */
            promoted_from: string | null;
            /** Replicas */
            replicas: number;
            /** Pending */
            pending: number;
            /** Waited S */
            waited_s: number;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Waits For */
            waits_for: string;
            /** Preempting */
            preempting: boolean;
        };
        /**
         * QueuePage
         * @description Some of the workloads that wait. `total`: how many wait in all.
         */
        QueuePage: {
            /** Items */
            items: components["schemas"]["QueueItem"][];
            /** Total */
            total: number;
        };
        /**
         * QueueResource
         * @description One resource of one queue. `maximum` None: no limit. `cluster`: capacity of the whole cluster.
         */
        QueueResource: {
            /** Unit */
            unit: string;
            /** Used */
            used: number;
            /** Guaranteed */
            guaranteed: number;
            /** Maximum */
            maximum: number | null;
            /** Borrowed */
            borrowed: number;
            /** Cluster */
            cluster: number;
        };
        /**
         * QueueRow
         * @description One queue with all queues below it. `dominant`: the resource of which it holds the largest share.
         *     `share_with_past`: its mean with what was held before, as `fair` counts it; equal to `share` without a half-life.
         */
        QueueRow: {
            /** Path */
            path: string;
            /** Name */
            name: string;
            /** Depth */
            depth: number;
            /** Leaf */
            leaf: boolean;
            /** Weight */
            weight: number;
            /** Share */
            share: number;
            /** Share With Past */
            share_with_past?: number;
            /** Dominant */
            dominant: string | null;
            /** Waiting */
            waiting: number;
            /** Max Workloads */
            max_workloads: number | null;
            /** Resources */
            resources: {
                [key: string]: components["schemas"]["QueueResource"];
            };
            /** User Limits */
            user_limits: {
                [key: string]: number;
            };
        };
        /**
         * QueuesAnswer
         * @description Parents come before children. `fair_between`: what counts as a tenant.
         */
        QueuesAnswer: {
            /** Queues */
            queues: components["schemas"]["QueueRow"][];
            /** Loans */
            loans: components["schemas"]["LoanRow"][];
            /** Fair Between */
            fair_between: string;
            /** Tenants */
            tenants: components["schemas"]["TenantRow"][];
        };
        /** RankedNode */
        RankedNode: {
            /** Node */
            node: string;
            /** Total */
            total: number;
            /** Points */
            points: {
                [key: string]: number;
            };
            /** Load */
            load: number;
        };
        /**
         * ReapedInstances
         * @description `items`: machines that nobody knew of. With `dry_run` they still run, otherwise they were ended.
         */
        ReapedInstances: {
            /** Dry Run */
            dry_run: boolean;
            /** Items */
            items: components["schemas"]["CloudInstanceRow"][];
            /** Problems */
            problems: components["schemas"]["CloudProblem"][];
        };
        /**
         * Rebalancing
         * @description `at`: when it was looked at; 0 before the first time. `spread`: the load of the fullest node less that of the
         *     emptiest; `deviation`: the standard deviation of loads; `distance`: the mean distance between tasks that exchange
         *     traffic, null if none do; `success_rate`: decisions that placed a task, of all since the start. `proposed`: moves
         *     that pay now; `done`: the latest ones, newest first.
         */
        Rebalancing: {
            /** At */
            at: number;
            /** Enabled */
            enabled: boolean;
            /** Every S */
            every_s: number;
            /** Threshold */
            threshold: number;
            /** Spread */
            spread: number;
            /** Deviation */
            deviation: number;
            /** Distance */
            distance: number | null;
            /** Success Rate */
            success_rate: number | null;
            /** Moves Last Hour */
            moves_last_hour: number;
            /** Proposed */
            proposed: components["schemas"]["MoveRow"][];
            /** Done */
            done: components["schemas"]["DoneMoveRow"][];
        };
        /**
         * RecentDecision
         * @description One decision. `tasks`: of this workload, decided alike at the same time. `nodes`: where they were placed, the
         *     first few. `outcome`: placed, waits or preempts; `reason` is the scheduler's own word. `took_ms`: the mean of the
         *     decisions made in that turn of the loop; null where nobody knows any more.
         */
        RecentDecision: {
            /** At */
            at: number;
            /** Workload */
            workload: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replica */
            replica: number;
            /** Tasks */
            tasks: number;
            /** Outcome */
            outcome: string;
            /** Reason */
            reason: string;
            /** Nodes */
            nodes: string[];
            /** Score */
            score: number | null;
            /** Why */
            why: string;
            /** Took Ms */
            took_ms: number | null;
        };
        /**
         * RecordingPiece
         * @description Bytes of a segment in base64. `next_offset`: where the next piece begins; null: this was the last one there is
         *     now.
         */
        RecordingPiece: {
            /** Name */
            name: string;
            /** Offset */
            offset: number;
            /** Data */
            data: string;
            /** Next Offset */
            next_offset: number | null;
        };
        /**
         * RecordingRow
         * @description A segment: it begins with the whole state at `at`.
         */
        RecordingRow: {
            /** Name */
            name: string;
            /** At */
            at: number;
            /** Size Bytes */
            size_bytes: number;
        };
        /**
         * RefusalPage
         * @description Nodes that passed all filters before this one. `total`: how many it refuses, on this page and others.
         */
        RefusalPage: {
            /** Items */
            items: components["schemas"]["RefusedNode"][];
            /** Total */
            total: number;
        };
        /** RefusedNode */
        RefusedNode: {
            /** Filter */
            filter: string;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Eviction */
            eviction: string;
            /** Resource */
            resource?: string;
            /** Needed */
            needed?: string;
            /** Free */
            free?: string;
            /** Node */
            node: string;
        };
        /**
         * RegisteredNode
         * @description `token`: of a new node, with which its agent speaks for it. It is told this once.
         */
        RegisteredNode: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Status */
            status: string;
            /** Reason */
            reason: string;
            /** Online */
            online: boolean;
            /** Cordoned */
            cordoned: boolean;
            /** Drained */
            drained: boolean;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Taints */
            taints: string[];
            /** Load */
            load: number;
            /** Tasks */
            tasks: number;
            /** Resources */
            resources: {
                [key: string]: components["schemas"]["NodeResource"];
            };
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
            /** Gpus */
            gpus: components["schemas"]["NodeGpu"][];
            inventory: components["schemas"]["NodeInventory"] | null;
            quarantine: components["schemas"]["NodeQuarantine"] | null;
            /** Token */
            token?: string;
        };
        /**
         * RemovedBackend
         * @description `unconfirmed`: stops that the backend did not confirm; those tasks may still run there.
         */
        RemovedBackend: {
            /** Nodes */
            nodes: number;
            /** Tasks */
            tasks: number;
            /** Unconfirmed */
            unconfirmed: number;
        };
        /**
         * ReplicaRow
         * @description `name`: as it can be typed. `state`: of its task, or unready, draining, crash_loop. `workload`: its id.
         */
        ReplicaRow: {
            /** Name */
            name: string;
            /** Index */
            index: number;
            /** Revision */
            revision: number;
            /** Workload */
            workload: number;
            /** State */
            state: string;
            /** Ready */
            ready: boolean;
            /** Message */
            message: string;
            /** Restarts */
            restarts: number;
            /** Node */
            node: string | null;
            /** Address */
            address: string | null;
            /** Ports */
            ports: {
                [key: string]: number;
            };
            /** Started At */
            started_at: number | null;
        };
        /** Reported */
        Reported: {
            /** Key */
            key: string;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "finished";
            /**
             * Exit Code
             * @default null
             */
            exit_code: number | null;
            /**
             * Reason
             * @default
             */
            reason: string;
            /** @default null */
            use: components["schemas"]["TaskUse"] | null;
            /** @default null */
            flows: components["schemas"]["TaskFlows"] | null;
        };
        /**
         * ReportedFailure
         * @description A domain by `level` and `name`, or one `node`.
         */
        ReportedFailure: {
            /**
             * Level
             * @default null
             */
            level: string | null;
            /**
             * Name
             * @default null
             */
            name: string | null;
            /**
             * Node
             * @default null
             */
            node: string | null;
            /**
             * Reason
             * @default
             */
            reason: string;
        };
        /**
         * ReportedMove
         * @description A live migration of a VM between two nodes with agents.
         */
        ReportedMove: {
            /** Key */
            key: string;
            /** Source */
            source: string;
            /** Target */
            target: string;
            /** Number */
            number: string;
        };
        /**
         * Reservation
         * @description An advance reservation. `until`: the last time at which a recurring one may start a window.
         */
        Reservation: {
            /**
             * Node
             * @default null
             */
            node: string | null;
            /** Nodes */
            nodes?: string[];
            /** Domain */
            domain?: {
                [key: string]: string | number | boolean;
            };
            /**
             * Count
             * @default null
             */
            count: number | null;
            /** Node Selector */
            node_selector?: {
                [key: string]: string | number | boolean;
            };
            /** @default null */
            resources: components["schemas"]["ResourceRequest"] | null;
            /**
             * Start
             * @description now, a time from now such as +2h, or a time such as 2026-12-01T08:00 (UTC unless it names its zone)
             * @default now
             * @example now
             * @example +2h
             * @example 2026-12-01T08:00
             */
            start: string | number;
            /**
             * Duration
             * @description a duration
             * @example 10m
             */
            duration: string | number;
            /**
             * Every
             * @default null
             */
            every: (string | number) | null;
            /**
             * Until
             * @default null
             */
            until: (string | number) | null;
            /**
             * Tenant
             * @default null
             */
            tenant: string | null;
            /**
             * Holder
             * @default
             */
            holder: string;
        };
        /**
         * ReservationRow
         * @description The window from `start` to `until` is the present or the next one; it repeats every `every_s` seconds until
         *     `repeats_until`. `resources`: what is held in all; `nodes`: what on which node; `node`: set if there is only one.
         *     `tenant` None: no workload may use the capacity. `status`: planned, active, or degraded (`message` says why).
         */
        ReservationRow: {
            /** Id */
            id: number;
            /** Node */
            node: string | null;
            /** Nodes */
            nodes: {
                [key: string]: {
                    [key: string]: string | number;
                };
            };
            /** Target */
            target: string;
            /** Resources */
            resources: {
                [key: string]: string | number;
            };
            /** Start */
            start: number;
            /** Until */
            until: number;
            /** Every S */
            every_s: number | null;
            /** Repeats Until */
            repeats_until: number | null;
            /** Tenant */
            tenant: string | null;
            /** Holder */
            holder: string;
            /** Status */
            status: string;
            /** Message */
            message: string;
        };
        /**
         * ResourceRequest
         * @description What one task requests. Every task also takes one slot of its node.
         *
         *     `gpu` is a number of whole GPUs, or a share of one. The other fields restrict them: the acceptable models (best
         *     first), the memory of each, and whether all must be in one island.
         */
        ResourceRequest: {
            /**
             * Cpu
             * @description CPU cores
             * @default 0
             * @example 500m
             */
            cpu: string | number;
            /**
             * Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            memory: string | number;
            /**
             * Disk
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            disk: string | number;
            /**
             * Gpu
             * @description whole GPUs, or a share of one
             * @default 0
             * @example 250m
             */
            gpu: string | number;
            /** Gpu Model */
            gpu_model?: string[] | string;
            /**
             * Gpu Memory
             * @description bytes with a unit
             * @default 0
             * @example 64GiB
             */
            gpu_memory: string | number;
            /**
             * Gpu Island
             * @default null
             */
            gpu_island: "same" | null;
        } & {
            [key: string]: number;
        };
        /** ResourceShortage */
        ResourceShortage: {
            /** Resource */
            resource: string;
            /** Needed */
            needed: string;
            /** Best Free */
            best_free: string;
            /** Best Node */
            best_node: string;
            /** Short By */
            short_by: string;
        };
        /**
         * ResourceUse
         * @description `share`: allocated divided by capacity, 0 without capacity.
         */
        ResourceUse: {
            /** Unit */
            unit: string;
            /** Capacity */
            capacity: number;
            /** Allocated */
            allocated: number;
            /** Share */
            share: number;
        };
        /**
         * RestartPolicy
         * @description When a task that has ended is started again: after `retries` failures at most, or always.
         * @enum {string}
         */
        RestartPolicy: "on_failure" | "always";
        /**
         * RetriedWorkload
         * @description `tasks`: the numbers of the tasks that run again.
         */
        RetriedWorkload: {
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Tasks */
            tasks: number[];
        };
        /** RetryWish */
        RetryWish: {
            /**
             * Reason
             * @default asked to run again
             */
            reason: string;
        };
        /**
         * RevisionRow
         * @description `stable`: it was the last one that became healthy.
         */
        RevisionRow: {
            /** Number */
            number: number;
            /** Made At */
            made_at: number;
            /** Cause */
            cause: string;
            /** Current */
            current: boolean;
            /** Stable */
            stable: boolean;
            /** Image */
            image: string | null;
            /** Command */
            command: string[];
        };
        /**
         * Run
         * @description What to execute. Volumes need an image, and a backend that runs containers. `submit_dir`: the directory of the
         *     caller; commands without `workdir` run there, where the machine has it. `stdin`: its input stays open, so that users
         *     can attach and write to it; else it reads nothing.
         */
        Run: {
            /** Command */
            command?: (string | number | boolean)[];
            /**
             * Image
             * @default null
             */
            image: string | null;
            /** Env */
            env?: Record<string, never>;
            /**
             * Workdir
             * @default null
             */
            workdir: string | null;
            /**
             * Submit Dir
             * @default null
             */
            submit_dir: string | null;
            /** Volumes */
            volumes?: components["schemas"]["Volume"][];
            /**
             * Stdin
             * @default false
             */
            stdin: boolean;
            /** @default null */
            simulate: components["schemas"]["SimulatedRun"] | null;
        };
        /**
         * RunOrder
         * @description `run.env`: the variables of the task, with those that every backend adds, except to VMs.
         */
        RunOrder: {
            /** Key */
            key: string;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replica */
            replica: number;
            /** Replicas */
            replicas: number;
            /** Run */
            run: {
                [key: string]: unknown;
            };
            /** Resources */
            resources: {
                [key: string]: unknown;
            };
            /** Limits */
            limits: {
                [key: string]: unknown;
            };
            /** Deadline */
            deadline: {
                [key: string]: unknown;
            };
            /** Grace S */
            grace_s: number | null;
            /** Devices */
            devices: number[];
            /** Vm */
            vm: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * RunRole
         * @description A role and what it executes; by default the workload's `run`.
         */
        RunRole: {
            /**
             * Name
             * Format: name
             */
            name: string;
            /**
             * Replicas
             * @default 1
             */
            replicas: number;
            /**
             * Labels
             * @default null
             */
            labels: {
                [key: string]: string | number | boolean;
            } | null;
            /** @default null */
            resources: components["schemas"]["ResourceRequest"] | null;
            /** @default null */
            limits: components["schemas"]["Limits"] | null;
            /**
             * Node Selector
             * @default null
             */
            node_selector: {
                [key: string]: string | number | boolean;
            } | null;
            /** @default null */
            node_affinity: components["schemas"]["NodeAffinity"] | null;
            /**
             * Tolerations
             * @default null
             */
            tolerations: components["schemas"]["Toleration"][] | null;
            /**
             * Constraints
             * @default null
             */
            constraints: components["schemas"]["Constraint"][] | null;
            /**
             * Retries
             * @default null
             */
            retries: number | null;
            /** @default null */
            run: components["schemas"]["Run"] | null;
        };
        /** SatisfyingNodes */
        SatisfyingNodes: {
            /** Satisfying */
            satisfying: number;
            /** Of */
            of: number;
            /** Failing */
            failing: components["schemas"]["FailingNode"][];
        };
        /**
         * SavingRow
         * @description What a machine did not use while it was off. `money` and `carbon_kg` None: the settings of its backend do not
         *     say what a kilowatt-hour costs or causes.
         */
        SavingRow: {
            /** Name */
            name: string;
            /** Backend */
            backend: string;
            /** Off Hours */
            off_hours: number;
            /** Watts */
            watts: number;
            /** Kwh */
            kwh: number;
            /** Money */
            money: number | null;
            /** Currency */
            currency: string;
            /** Carbon Kg */
            carbon_kg: number | null;
        };
        /**
         * ScaleWish
         * @description How many replicas there should be.
         */
        ScaleWish: {
            /** Replicas */
            replicas: number;
        };
        /** SchedulerRow */
        SchedulerRow: {
            /** Name */
            name: string;
            /** Profile */
            profile: string;
            /** Namespaces */
            namespaces: string[];
            /** Node Selector */
            node_selector: {
                [key: string]: string;
            };
        };
        /**
         * Scrape
         * @description A counter that each replica shows in the Prometheus format, such as `http_requests_total`: its rate a second.
         */
        Scrape: {
            /** Counter */
            counter: string;
            /**
             * Path
             * Format: url-path
             * @default /metrics
             */
            path: string;
            /**
             * Port
             * @default null
             */
            port: string | null;
        };
        /** SeenSnapshot */
        SeenSnapshot: {
            /** Name */
            name: string;
            /** Made At */
            made_at: number;
            /** Power */
            power: string;
            /** Current */
            current: boolean;
        };
        /**
         * SeenVm
         * @description A VM of the hypervisor beside the agent. `key`: of the attempt that it is; null if others made it.
         */
        SeenVm: {
            /** Name */
            name: string;
            /**
             * Key
             * @default null
             */
            key: string | null;
            /** Power */
            power: string;
            /** Cpus */
            cpus: number;
            /** Memory Bytes */
            memory_bytes: number;
            /**
             * Used Memory Bytes
             * @default null
             */
            used_memory_bytes: number | null;
            /**
             * Cpu Time S
             * @default null
             */
            cpu_time_s: number | null;
        };
        /** ServerHealth */
        ServerHealth: {
            /** Status */
            status: string;
            /** Detail */
            detail: string;
        };
        /**
         * Service
         * @description `replicas` tasks that are kept up: one that ends is started again, with growing pauses. Replicas are spread over
         *     nodes, and over racks and zones where nodes have these labels, unless `spread` or `affinity` says otherwise.
         */
        Service: {
            /**
             * Name
             * Format: name
             */
            name: string;
            /**
             * Namespace
             * Format: name
             * @default default
             */
            namespace: string;
            /**
             * User
             * @default null
             */
            user: string | null;
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** @default medium */
            priority: components["schemas"]["Priority"];
            resources?: components["schemas"]["ResourceRequest"];
            limits?: components["schemas"]["Limits"];
            /** Node Selector */
            node_selector?: {
                [key: string]: string | number | boolean;
            };
            node_affinity?: components["schemas"]["NodeAffinity"];
            /** Tolerations */
            tolerations?: components["schemas"]["Toleration"][];
            /** Constraints */
            constraints?: components["schemas"]["Constraint"][];
            /** Policies */
            policies?: string[];
            /** Affinity */
            affinity?: components["schemas"]["Affinity"][];
            /** Spread */
            spread?: components["schemas"]["Spread"][];
            /** Conflicts */
            conflicts?: (components["schemas"]["ConflictSet"] | string)[];
            /** Traffic */
            traffic?: components["schemas"]["Traffic"][];
            backends?: components["schemas"]["BackendChoice"];
            /**
             * Prefer
             * @default null
             */
            prefer: components["schemas"]["PlacePreference"] | components["schemas"]["PreferenceWeights"] | null;
            /** Inputs */
            inputs?: components["schemas"]["DataInput"][];
            /**
             * Scheduler
             * @default null
             */
            scheduler: string | null;
            /**
             * Profile
             * @default null
             */
            profile: string | null;
            /**
             * Queue
             * @default null
             */
            queue: string | null;
            disruption?: components["schemas"]["Disruption"];
            run?: components["schemas"]["Run"];
            /**
             * Kind
             * @default service
             * @constant
             */
            kind: "service";
            /**
             * Replicas
             * @default 1
             */
            replicas: number;
            /** Ports */
            ports?: components["schemas"]["Port"][];
            health?: components["schemas"]["Health"];
            update?: components["schemas"]["Update"];
            /** @default null */
            autoscale: components["schemas"]["Autoscale"] | null;
        };
        /**
         * ServiceAffinityRow
         * @description `kind`: affinity or antiaffinity. `policy`: the policy that keeps it. `warnings`: names that no node has.
         */
        ServiceAffinityRow: {
            /** Namespace */
            namespace: string;
            /** Service */
            service: string;
            /** Kind */
            kind: string;
            /** Nodes */
            nodes: string[];
            /** Required */
            required: boolean;
            /** Policy */
            policy: string;
            /** Version */
            version: number;
            /** Set At */
            set_at: number;
            /** Workloads */
            workloads: number;
            /** Warnings */
            warnings: string[];
        };
        /** ServiceDetail */
        ServiceDetail: {
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replicas */
            replicas: number;
            /** Ready */
            ready: number;
            /** Updated */
            updated: number;
            /** Revision */
            revision: number;
            /** Rollout */
            rollout: string;
            /** Message */
            message: string;
            /** Removed */
            removed: boolean;
            /** Made At */
            made_at: number;
            /** Spec */
            spec: {
                [key: string]: unknown;
            };
            /** Items */
            items: components["schemas"]["ReplicaRow"][];
            /** Revisions */
            revisions: components["schemas"]["RevisionRow"][];
        };
        /**
         * ServiceEndpoints
         * @description `version`: of the endpoints of all services.
         */
        ServiceEndpoints: {
            /** Namespace */
            namespace: string;
            /** Service */
            service: string;
            /** Version */
            version: number;
            /** Items */
            items: components["schemas"]["EndpointRow"][];
        };
        /**
         * ServiceItem
         * @description A service that has a name, with endpoints or without. `protocols`: tcp or udp, by the name of a port.
         */
        ServiceItem: {
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replicas */
            replicas: number;
            /** Protocols */
            protocols: {
                [key: string]: string;
            };
            /** Labels */
            labels: {
                [key: string]: string;
            };
        };
        /**
         * ServiceRow
         * @description `rollout`: progressing, complete, failed or rolled_back. `updated`: replicas of the present revision. `message`:
         *     what a person should know about the last update.
         */
        ServiceRow: {
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Replicas */
            replicas: number;
            /** Ready */
            ready: number;
            /** Updated */
            updated: number;
            /** Revision */
            revision: number;
            /** Rollout */
            rollout: string;
            /** Message */
            message: string;
            /** Removed */
            removed: boolean;
            /** Made At */
            made_at: number;
        };
        /**
         * SessionRow
         * @description An open session of a browser. `used_at`: when it last asked something, `browser`: which one, such as `Firefox on
         *     Linux`; None and empty if it did not since the server started. `current`: it is the one that asks.
         */
        SessionRow: {
            /** Id */
            id: number;
            /** User */
            user: string;
            /** Made At */
            made_at: number;
            /** Expires At */
            expires_at: number;
            /** Used At */
            used_at: number | null;
            /** Browser */
            browser: string;
            /** Current */
            current: boolean;
        };
        /**
         * SetDistances
         * @description How many distances were set.
         */
        SetDistances: {
            /** Set */
            set: number;
        };
        /**
         * SimulatedRun
         * @description The behaviour on the simulated backend; other backends ignore it.
         */
        SimulatedRun: {
            /**
             * Run Time
             * @default null
             */
            run_time: (string | number) | null;
            /**
             * Exit Code
             * @default 0
             */
            exit_code: number;
        };
        /**
         * SnapshotBody
         * @description A snapshot file (`docs/simulating.md` describes its parts).
         */
        SnapshotBody: {
            /** Format */
            format: string;
            /** Version */
            version: number;
            /** Taken At */
            taken_at: number;
            /** Source */
            source: {
                [key: string]: unknown;
            };
            /** Left Out */
            left_out: string[];
            /** Settings */
            settings: {
                [key: string]: unknown;
            };
            /** Topology */
            topology: {
                [key: string]: unknown;
            } | null;
            /** Distances */
            distances: (string | number)[][];
            /** Measured */
            measured: {
                [key: string]: unknown;
            } | null;
            /** Nodes */
            nodes: {
                [key: string]: unknown;
            }[];
            /** Workloads */
            workloads: {
                [key: string]: unknown;
            }[];
            /** Terms */
            terms: {
                [key: string]: unknown;
            }[];
            /** Reservations */
            reservations: {
                [key: string]: unknown;
            }[];
            /** Policies */
            policies: {
                [key: string]: unknown;
            }[];
            /** Learned */
            learned: {
                [key: string]: unknown;
            };
            /** Cursors */
            cursors: {
                [key: string]: number;
            };
            /** Next Workload */
            next_workload: number;
            /** Next Reservation */
            next_reservation: number;
        };
        /**
         * Spread
         * @description Spread tasks evenly over the domains of a level, up to `max_skew`; with a weight it is a preference. It counts
         *     the workload's own tasks, or those selected by `of`.
         */
        Spread: {
            /**
             * Over
             * Format: level
             */
            over: string;
            /**
             * Max Skew
             * @default 1
             */
            max_skew: number;
            /**
             * Min Domains
             * @default null
             */
            min_domains: number | null;
            /** @default null */
            of: components["schemas"]["Peers"] | string | null;
            /**
             * Weight
             * @default null
             */
            weight: number | null;
        };
        /**
         * StartedCommand
         * @description `id`: under which its output is read. `task` and `node`: next to what it runs, and where. `takes_input`: whether
         *     input can be sent.
         */
        StartedCommand: {
            /** Id */
            id: string;
            /** Task */
            task: string;
            /** Node */
            node: string;
            /** Takes Input */
            takes_input: boolean;
        };
        /**
         * StrategyName
         * @description How a domain and the nodes in it are chosen.
         * @enum {string}
         */
        StrategyName: "balanced" | "pack" | "spread" | "latency" | "bandwidth" | "fragmentation";
        /**
         * Structured
         * @description An expression as a structure: one comparison, or several that are combined. `left` is the operand
         *     (`node.labels.zone`), `right` the value; `exists` takes none.
         */
        Structured: {
            /**
             * Left
             * @default null
             */
            left: string | null;
            /** @default null */
            operator: components["schemas"]["Comparison"] | null;
            /**
             * Right
             * @default null
             */
            right: unknown;
            /** Sub Expressions */
            sub_expressions?: components["schemas"]["Structured"][];
            /**
             * Logical Operator
             * @default null
             */
            logical_operator: string | null;
        };
        /**
         * SuggestionRow
         * @description A change with which a trial placed the whole workload: a JSON merge patch of its definition, or an action such as
         *     {"uncordon": "n3"}, {"evict": ["default/batch-7.0"]} or {"wait_until": 1700000000.0}.
         */
        SuggestionRow: {
            /** Words */
            words: string;
            /** Kind */
            kind: string;
            /** Patch */
            patch: {
                [key: string]: unknown;
            } | null;
            /** Action */
            action: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * SwitchPort
         * @description The port of a switch that an interface is plugged into, as LLDP says.
         */
        SwitchPort: {
            /** Interface */
            interface: string;
            /** Switch */
            switch: string;
            /**
             * Port
             * @default
             */
            port: string;
        };
        /**
         * Taint
         * @description Repels tasks from a node unless they tolerate it.
         */
        Taint: {
            /**
             * Key
             * Format: label-key
             */
            key: string;
            /**
             * Value
             * Format: label-value
             * @default
             */
            value: string | number | boolean;
            effect: components["schemas"]["Effect"];
        };
        /**
         * TakenInput
         * @description `offset`: of the next byte; smaller than what was sent if there was no room for it.
         */
        TakenInput: {
            /** Offset */
            offset: number;
        };
        /** TaskCounts */
        TaskCounts: {
            /** Pending */
            pending: number;
            /** Active */
            active: number;
            /** Succeeded */
            succeeded: number;
            /** Failed */
            failed: number;
            /** Cancelled */
            cancelled: number;
            /** Total */
            total: number;
        };
        /**
         * TaskFlows
         * @description `listens`: ports on which the task takes connections. `flows`: of connections that the task has made; those that
         *     others made to it are in their reports.
         */
        TaskFlows: {
            /** Listens */
            listens?: number[];
            /** Flows */
            flows?: components["schemas"]["Flow"][];
        };
        /**
         * TaskPage
         * @description `total`: how many tasks were meant, on this page and others.
         */
        TaskPage: {
            /** Items */
            items: components["schemas"]["TaskRow"][];
            /** Total */
            total: number;
        };
        /**
         * TaskRow
         * @description `use`: of a running task whose use was measured.
         */
        TaskRow: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** State */
            state: string;
            /** Attempt */
            attempt: number;
            /** Node */
            node: string | null;
            /** Backend */
            backend: string | null;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Exit Code */
            exit_code: number | null;
            /** Placed At */
            placed_at: number | null;
            /** Started At */
            started_at: number | null;
            /** Finished At */
            finished_at: number | null;
            /** Failures */
            failures: number;
            /** Bind Failures */
            bind_failures: number;
            /** Devices */
            devices: number[];
            use?: components["schemas"]["MeasuredTaskUse"];
        };
        /**
         * TaskUse
         * @description None: not measured there.
         *
         *     `cpu_cores`: since the last measurement. Pressures: the share of the last ten seconds in which some process of the
         *     task waited for CPU, memory or disk (Linux PSI). Disk and network count since the task started. `gpus`: how many
         *     GPUs it keeps busy.
         */
        TaskUse: {
            /**
             * Cpu Cores
             * @default null
             */
            cpu_cores: number | null;
            /**
             * Memory Bytes
             * @default null
             */
            memory_bytes: number | null;
            /**
             * Cpu Pressure
             * @default null
             */
            cpu_pressure: number | null;
            /**
             * Memory Pressure
             * @default null
             */
            memory_pressure: number | null;
            /**
             * Io Pressure
             * @default null
             */
            io_pressure: number | null;
            /**
             * Disk Read Bytes
             * @default null
             */
            disk_read_bytes: number | null;
            /**
             * Disk Written Bytes
             * @default null
             */
            disk_written_bytes: number | null;
            /**
             * Network Received Bytes
             * @default null
             */
            network_received_bytes: number | null;
            /**
             * Network Sent Bytes
             * @default null
             */
            network_sent_bytes: number | null;
            /**
             * Gpus
             * @default null
             */
            gpus: number | null;
            /**
             * Gpu Memory Bytes
             * @default null
             */
            gpu_memory_bytes: number | null;
        };
        /**
         * TcpCheck
         * @description Well if the port accepts a connection. `port`: a name among `ports` or a number; by default the first port.
         */
        TcpCheck: {
            /**
             * Port
             * @default null
             */
            port: string | number | null;
        };
        /**
         * TenantRow
         * @description `deviation` from the fair share: 0 is exactly fair, -0.5 is half of it, 1 is twice as much.
         */
        TenantRow: {
            /** Tenant */
            tenant: string;
            /** Weight */
            weight: number;
            /** Share */
            share: number;
            /** Share With Past */
            share_with_past?: number;
            /** Deviation */
            deviation: number;
        };
        /**
         * TerminalWish
         * @description The size of a terminal.
         */
        TerminalWish: {
            /**
             * Rows
             * @default 24
             */
            rows: number;
            /**
             * Columns
             * @default 80
             */
            columns: number;
        };
        /**
         * ToldLeaving
         * @description What a node must have to take in a VM: the mark of its agent, and shared storage if it has disks.
         */
        ToldLeaving: {
            /** Cluster */
            cluster: string;
            /** Disks */
            disks: boolean;
        };
        /**
         * ToldPeer
         * @description How the hypervisor of a node takes in VMs. `cpus`: of each NUMA cell.
         */
        ToldPeer: {
            /** Uri */
            uri: string;
            /**
             * Address
             * @default null
             */
            address: string | null;
            /**
             * Cpus
             * @default {}
             */
            cpus: {
                [key: string]: string;
            };
        };
        /**
         * ToldPresence
         * @description A VM that is migrated, as one side sees it. `power` null: it is not there.
         */
        ToldPresence: {
            /**
             * Power
             * @default null
             */
            power: string | null;
            /**
             * Moving
             * @default false
             */
            moving: boolean;
            /** @default null */
            move: components["schemas"]["ReportedMove"] | null;
            /** @default null */
            progress: components["schemas"]["ToldProgress"] | null;
        };
        /** ToldProgress */
        ToldProgress: {
            /** Source */
            source: string;
            /** Target */
            target: string;
            /** State */
            state: string;
            /** Elapsed S */
            elapsed_s: number;
            /**
             * Total Bytes
             * @default 0
             */
            total_bytes: number;
            /**
             * Sent Bytes
             * @default 0
             */
            sent_bytes: number;
            /**
             * Remaining Bytes
             * @default 0
             */
            remaining_bytes: number;
            /**
             * Dirty Bytes Per S
             * @default null
             */
            dirty_bytes_per_s: number | null;
            /**
             * Downtime S
             * @default null
             */
            downtime_s: number | null;
            /**
             * Rounds
             * @default 0
             */
            rounds: number;
            /**
             * Words
             * @default
             */
            words: string;
        };
        /**
         * Toleration
         * @description Allows a task on a tainted node. Without a key it matches all taints; without an effect, all effects.
         */
        Toleration: {
            /**
             * Key
             * @default null
             */
            key: string | null;
            /** @default Equal */
            operator: components["schemas"]["TolerationOperator"];
            /**
             * Value
             * Format: label-value
             * @default
             */
            value: string | number | boolean;
            /** @default null */
            effect: components["schemas"]["Effect"] | null;
            /**
             * Toleration Seconds
             * @default null
             */
            toleration_seconds: (string | number) | null;
        };
        /**
         * TolerationOperator
         * @enum {string}
         */
        TolerationOperator: "Equal" | "Exists" | "Gt" | "Lt";
        /**
         * Topology
         * @description `domains`: by level and name, the hosts or narrower domains in it. `switches`: the level of each switch; by
         *     default it follows from the distance to the hosts. Linked names that are no switches are hosts.
         */
        Topology: {
            /**
             * Levels
             * @description widest first
             */
            levels?: components["schemas"]["TopologyLevel"][];
            /** Nodes */
            nodes?: {
                [key: string]: {
                    [key: string]: string | number | boolean;
                };
            };
            /** Domains */
            domains?: {
                [key: string]: {
                    [key: string]: (string | number | boolean)[] | string;
                };
            };
            /** Switches */
            switches?: {
                [key: string]: string | null;
            } | string[];
            /** Links */
            links?: components["schemas"]["TopologyLink"][];
            /** Rules */
            rules?: components["schemas"]["HopRule"][];
            weights?: components["schemas"]["DistanceWeights"];
        };
        /**
         * TopologyAnswer
         * @description `strangers`: how many described hosts are not nodes; `some_strangers`: their names. `contradictions`: nodes that
         *     measure unlike their description, one sentence each.
         */
        TopologyAnswer: {
            /** Described */
            described: boolean;
            /** Levels */
            levels: components["schemas"]["LevelRow"][];
            /** Rules */
            rules: {
                [key: string]: unknown;
            }[];
            /** Links */
            links: number;
            /** Switches */
            switches: number;
            /** Strangers */
            strangers: number;
            /** Some Strangers */
            some_strangers: string[];
            /** Definition */
            definition: {
                [key: string]: unknown;
            };
            /** Contradictions */
            contradictions: string[];
        };
        /**
         * TopologyLevel
         * @description A level, and the uplink of each of its domains. `label` is the node label with the domain's name, by default the
         *     name of the level.
         */
        TopologyLevel: {
            /**
             * Name
             * Format: level
             */
            name: string;
            /**
             * Label
             * @default null
             */
            label: string | null;
            /**
             * Bandwidth
             * @default null
             */
            bandwidth: string | null;
            /**
             * Latency
             * @default null
             */
            latency: (string | 0) | null;
            /**
             * Loss
             * @default 0
             */
            loss: number;
        };
        /**
         * TopologyLink
         * @description A bidirectional link between two hosts or switches. Parallel links add up. `utilisation` is the share of the
         *     bandwidth that other traffic uses.
         */
        TopologyLink: {
            /**
             * From
             * Format: vertex
             */
            from: string | number | boolean;
            /**
             * To
             * Format: vertex
             */
            to: string | number | boolean;
            /**
             * Bandwidth
             * @default null
             */
            bandwidth: string | null;
            /**
             * Latency
             * @default null
             */
            latency: (string | 0) | null;
            /**
             * Loss
             * @default 0
             */
            loss: number;
            /**
             * Utilisation
             * @default 0
             */
            utilisation: number;
        };
        /**
         * TopologyMap
         * @description `full`: it holds all nodes; otherwise those that changed after the version that was asked for, and `gone`, the
         *     rows that have no node any more. Without `domains`, they have not changed either. `tenants` and
         *     `backends` only grow.
         */
        TopologyMap: {
            /** Version */
            version: string;
            /** Full */
            full: boolean;
            /** Levels */
            levels: string[];
            /** Legend */
            legend: string[];
            /** Tenants */
            tenants: string[];
            /** Backends */
            backends: string[];
            nodes: components["schemas"]["MapNodes"];
            /** Gone */
            gone: number[];
            /** Domains */
            domains?: components["schemas"]["MapDomain"][];
            workload?: components["schemas"]["MapWorkload"];
        };
        /** TotalPoints */
        TotalPoints: {
            /** Total */
            total: number;
            /** Scores */
            scores: {
                [key: string]: number;
            };
        };
        /**
         * Traffic
         * @description The total traffic with another workload of the same namespace, both directions together.
         */
        Traffic: {
            /**
             * To
             * Format: name
             */
            to: string;
            /** Mbps */
            mbps: number;
        };
        /**
         * TrafficRow
         * @description `source` has connected to `target`, each as it can be typed; a null target is the world outside. Rates in Mbps,
         *     both directions together; null for what was not observed or not declared. `distance`: the mean between their tasks.
         *     `suggestion`: what to write into the definition of the source; empty where nothing is worth it.
         */
        TrafficRow: {
            /** Namespace */
            namespace: string;
            /** Source */
            source: string;
            /** Target */
            target: string | null;
            /** Observed Mbps */
            observed_mbps: number | null;
            /** Declared Mbps */
            declared_mbps: number | null;
            /** Distance */
            distance: number | null;
            /** Suggestion */
            suggestion: string;
        };
        /**
         * TrainOrder
         * @description To whom a train of packets goes, and in how many seconds.
         */
        TrainOrder: {
            /** Epoch */
            epoch: number;
            /** Key */
            key: string;
            /** Node */
            node: string;
            /** Address */
            address: string;
            /** Port */
            port: number;
            /** In S */
            in_s: number;
        };
        /** TrendAnswer */
        TrendAnswer: {
            /** From */
            from: number;
            /** Step S */
            step_s: number;
            /** Times */
            times: number[];
            /** Series */
            series: {
                [key: string]: components["schemas"]["TrendSeries"];
            };
            /** Groups */
            groups: {
                [key: string]: {
                    [key: string]: (number | null)[];
                };
            };
        };
        /**
         * TrendSeries
         * @description `unit`: share (0 to 1), cores, bytes, GPUs, pieces, workloads, s, ms, 1/s or 1/min. A value is null where nothing
         *     was recorded: the server did not run then, or there is no such thing.
         */
        TrendSeries: {
            /** Title */
            title: string;
            /** Unit */
            unit: string;
            /** Values */
            values: (number | null)[];
        };
        /**
         * TypicalTask
         * @description `share`: its part of all tasks. It fits on `nodes` nodes, and `tasks` copies of it fit in all.
         */
        TypicalTask: {
            /** Ask */
            ask: string;
            /** Gpu */
            gpu: number;
            /** Gpu Models */
            gpu_models: string[];
            /** Cpu */
            cpu: number;
            /** Memory */
            memory: number;
            /** Share */
            share: number;
            /** Nodes */
            nodes: number;
            /** Tasks */
            tasks: number;
        };
        /**
         * UndoWish
         * @description Which revision to go back to; without one, that before the present one.
         */
        UndoWish: {
            /**
             * Revision
             * @default null
             */
            revision: number | null;
        };
        /**
         * Update
         * @description How a new version replaces the old one. `rolling`: some replicas at a time, with at most `max_unavailable` of
         *     them missing and at most `max_surge` more than asked for. `blue_green`: all new replicas beside the old ones, and
         *     traffic moves to them at once when all are ready.
         *
         *     A replica counts after it was ready for `min_ready`. If no further replica becomes ready within `healthy_within`,
         *     the update has failed: with `rollback` the version before comes back. `drain`: how long a replica gets no new
         *     traffic before it is stopped.
         */
        Update: {
            /** @default rolling */
            strategy: components["schemas"]["UpdateStrategy"];
            /**
             * Max Unavailable
             * @default 0
             */
            max_unavailable: number;
            /**
             * Max Surge
             * @default 1
             */
            max_surge: number;
            /**
             * Min Ready
             * @description a duration
             * @default 0
             * @example 10m
             */
            min_ready: string | number;
            /**
             * Healthy Within
             * @description a duration
             * @default 300
             * @example 10m
             */
            healthy_within: string | number;
            /**
             * Rollback
             * @default true
             */
            rollback: boolean;
            /**
             * Drain
             * @description a duration
             * @default 2
             * @example 10m
             */
            drain: string | number;
        };
        /**
         * UpdateStrategy
         * @enum {string}
         */
        UpdateStrategy: "rolling" | "blue_green";
        /**
         * UsagePage
         * @description Newest first; `cursor` asks for the next page, None after the last. `total`: of all pages.
         */
        UsagePage: {
            /** Items */
            items: components["schemas"]["UsageRow"][];
            /** Cursor */
            cursor: string | null;
            total: components["schemas"]["UsageTotal"];
        };
        /**
         * UsageRow
         * @description A workload with what it used. `cpu` and `gpu`: of one task. Hours are those in which its tasks ran.
         */
        UsageRow: {
            /** Pending */
            pending: number;
            /** Active */
            active: number;
            /** Succeeded */
            succeeded: number;
            /** Failed */
            failed: number;
            /** Cancelled */
            cancelled: number;
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Priority */
            priority: string;
            /** User */
            user: string | null;
            /** Service */
            service: string | null;
            /** Replicas */
            replicas: number;
            /** Submitted At */
            submitted_at: number;
            /** State */
            state: string;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Started At */
            started_at: number | null;
            /** Finished At */
            finished_at: number | null;
            /** Queue */
            queue: string | null;
            /** Ran S */
            ran_s: number;
            /** Running Since */
            running_since: number | null;
            /** Cpu */
            cpu: number;
            /** Gpu */
            gpu: number;
            /** Attempts */
            attempts: number;
            /** Exit Code */
            exit_code: number | null;
            /** Waited S */
            waited_s: number;
            /** Cpu Hours */
            cpu_hours: number;
            /** Gpu Hours */
            gpu_hours: number;
        };
        /** UsageTotal */
        UsageTotal: {
            /** Workloads */
            workloads: number;
            /** Attempts */
            attempts: number;
            /** Cpu Hours */
            cpu_hours: number;
            /** Gpu Hours */
            gpu_hours: number;
        };
        /**
         * VictimRow
         * @description A task that would be preempted; `lost_s` seconds of its work would be lost.
         */
        VictimRow: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Priority */
            priority: string;
            /** Node */
            node: string;
            /** Lost S */
            lost_s: number;
        };
        /**
         * ViolationRow
         * @description A task that runs on a node where a policy does not allow it now.
         */
        ViolationRow: {
            /** Workload */
            workload: number;
            /** Replica */
            replica: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Node */
            node: string;
            /** Why */
            why: string;
        };
        /**
         * VirtualDisk
         * @description A disk beside that of `image`: an empty one of a size, which is removed with the VM, or one that is there.
         */
        VirtualDisk: {
            /**
             * Size
             * @default null
             */
            size: (string | number) | null;
            /**
             * Source
             * @default null
             */
            source: string | null;
            /**
             * Read Only
             * @default false
             */
            read_only: boolean;
            /**
             * Bus
             * @default virtio
             * @enum {string}
             */
            bus: "virtio" | "scsi" | "sata" | "usb";
        };
        /**
         * VirtualMachine
         * @description `image` is never written: the VM gets a disk of its own on top of it. With `kernel` it is booted directly.
         *     `adopt`: take over a VM that runs, as it is; then nothing else is given here.
         */
        VirtualMachine: {
            /**
             * Image
             * @default null
             */
            image: string | null;
            /**
             * Kernel
             * @default null
             */
            kernel: string | null;
            /**
             * Initrd
             * @default null
             */
            initrd: string | null;
            /**
             * Kernel Args
             * @default null
             */
            kernel_args: string | null;
            /** Disks */
            disks?: components["schemas"]["VirtualDisk"][];
            /** Networks */
            networks?: components["schemas"]["VirtualNetwork"][];
            /** @default null */
            cloud_init: components["schemas"]["CloudInit"] | null;
            /** @default bios */
            firmware: components["schemas"]["Firmware"];
            /**
             * Machine
             * @default null
             */
            machine: string | null;
            /**
             * Arch
             * @default null
             */
            arch: ("x86_64" | "aarch64") | null;
            /**
             * Cpu Model
             * @default null
             */
            cpu_model: string | null;
            /** @default null */
            huge_pages: components["schemas"]["HugePages"] | null;
            /**
             * Numa Cell
             * @default null
             */
            numa_cell: number | null;
            /**
             * Adopt
             * @default null
             */
            adopt: string | null;
        };
        /**
         * VirtualNetwork
         * @description A network card: in a network of libvirt, or on a bridge of the hypervisor.
         */
        VirtualNetwork: {
            /**
             * Network
             * @default null
             */
            network: string | null;
            /**
             * Bridge
             * @default null
             */
            bridge: string | null;
            /**
             * Mac
             * @default null
             */
            mac: string | null;
            /**
             * Model
             * @default virtio
             */
            model: string;
        };
        /**
         * VmChanged
         * @description What was asked of a VM. `done`: what was done, in words.
         */
        VmChanged: {
            /** Task */
            task: string;
            /** Done */
            done: string;
        };
        /**
         * VmMigration
         * @description A live migration: `state` is running, done, failed or none. Rates are per second.
         */
        VmMigration: {
            /** Task */
            task: string;
            /** State */
            state: string;
            /** Source */
            source: string | null;
            /** Target */
            target: string | null;
            /** Elapsed S */
            elapsed_s: number | null;
            /** Total Bytes */
            total_bytes: number | null;
            /** Sent Bytes */
            sent_bytes: number | null;
            /** Remaining Bytes */
            remaining_bytes: number | null;
            /** Dirty Bytes Per S */
            dirty_bytes_per_s: number | null;
            /** Downtime S */
            downtime_s: number | null;
            /** Rounds */
            rounds: number | null;
            /** Message */
            message: string;
        };
        /**
         * VmRow
         * @description `workload` and `namespace` are null for a VM that others made. `power`: running, paused, off, panicked, or
         *     unknown while its host does not answer.
         */
        VmRow: {
            /** Name */
            name: string;
            /** Node */
            node: string;
            /** Backend */
            backend: string;
            /** Workload */
            workload: string | null;
            /** Namespace */
            namespace: string | null;
            /** Task */
            task: string | null;
            /** Power */
            power: string;
            /** Cpus */
            cpus: number;
            /** Memory Bytes */
            memory_bytes: number;
            /** Used Memory Bytes */
            used_memory_bytes: number | null;
            /** Cpu Time S */
            cpu_time_s: number | null;
        };
        /**
         * VmSnapshotRow
         * @description `current`: the VM was last reverted to it, or taken from it.
         */
        VmSnapshotRow: {
            /** Name */
            name: string;
            /** Made At */
            made_at: number;
            /** Power */
            power: string;
            /** Current */
            current: boolean;
        };
        /**
         * Volume
         * @description A mount of a container at `target`: a directory of the node (absolute path) or a named volume of the node; in
         *     Kubernetes a claim. The data of a node stays on that node.
         */
        Volume: {
            /**
             * Source
             * Format: printable
             */
            source: string;
            /**
             * Target
             * Format: printable
             */
            target: string;
            /**
             * Read Only
             * @default false
             */
            read_only: boolean;
        };
        /**
         * WebPageRow
         * @description A page of the dashboard; `group` is empty for those above all groups.
         */
        WebPageRow: {
            /** Path */
            path: string;
            /** Title */
            title: string;
            /** Group */
            group: string;
            /** Module */
            module: string;
            /** In Menu */
            in_menu: boolean;
        };
        /**
         * WebSession
         * @description `csrf`: every change that a page sends carries it as `X-Dovetail-CSRF`. `profile`: the default one.
         */
        WebSession: {
            /** User */
            user: string;
            /** Csrf */
            csrf: string;
            /** Expires At */
            expires_at: number;
            /** Version */
            version: string;
            /** Profile */
            profile: string;
            /** Pages */
            pages: components["schemas"]["WebPageRow"][];
        };
        /** WeightedTerm */
        WeightedTerm: {
            /** Match */
            match: components["schemas"]["LabelMatch"][];
            /**
             * Weight
             * @default 1
             */
            weight: number;
        };
        /**
         * WhatIfAnswer
         * @description `taken_at`: of the copy; other times are seconds from then on.
         */
        WhatIfAnswer: {
            /** Taken At */
            taken_at: number;
            /** Horizon S */
            horizon_s: number;
            before: components["schemas"]["WhatIfRun"];
            after: components["schemas"]["WhatIfRun"];
            differences: components["schemas"]["WhatIfDifferences"];
            /** Sentences */
            sentences: string[];
        };
        /**
         * WhatIfDifferences
         * @description `placed_elsewhere`: tasks that wait now and would get another node.
         */
        WhatIfDifferences: {
            started: components["schemas"]["ChangedWorkloads"];
            delayed: components["schemas"]["ChangedWorkloads"];
            moved: components["schemas"]["MovedTasks"];
            unplaced: components["schemas"]["ExplainedWorkloads"];
            preempted: components["schemas"]["ExplainedWorkloads"];
            failed: components["schemas"]["ExplainedWorkloads"];
            /** Placed Elsewhere */
            placed_elsewhere: number;
            /** Utilisation */
            utilisation: {
                [key: string]: components["schemas"]["BeforeAndAfter"];
            };
        };
        /**
         * WhatIfQuestion
         * @description Changes, and how far to look ahead.
         */
        WhatIfQuestion: {
            /** Workloads */
            workloads?: components["schemas"]["Workload"][];
            /** Cancel */
            cancel?: (string | number)[];
            /** Remove Nodes */
            remove_nodes?: string[];
            /** Add Nodes */
            add_nodes?: components["schemas"]["AddedNodes"][];
            /** Fail */
            fail?: components["schemas"]["PlannedFailure"][];
            /**
             * Profile
             * @default null
             */
            profile: string | components["schemas"]["ProfileSettings"] | null;
            /**
             * Horizon
             * @description a duration
             * @default 21600
             * @example 10m
             */
            horizon: string | number;
            /**
             * Seed
             * @default 0
             */
            seed: number;
        };
        /**
         * WhatIfRun
         * @description `figures`: by name, as `dovetail simulate -o json` has them.
         */
        WhatIfRun: {
            /** Profile */
            profile: string;
            /** Workloads */
            workloads: number;
            /** Waiting At The End */
            waiting_at_the_end: number;
            /** Utilisation */
            utilisation: {
                [key: string]: number;
            };
            /** Figures */
            figures: {
                [key: string]: number | null;
            };
        };
        /** Why */
        Why: {
            /**
             * Reason
             * @default
             */
            reason: string;
        };
        /** WhyNotAnswer */
        WhyNotAnswer: {
            /** Node */
            node: string;
            /** Refused */
            refused: components["schemas"]["NodeRefusal"][];
            /** Rank */
            rank: number | null;
            /** Feasible */
            feasible: number;
            /** Best Node */
            best_node: string | null;
            /** Answer */
            answer: string;
            points: components["schemas"]["TotalPoints"];
            /** Best */
            best: components["schemas"]["RankedNode"][];
        };
        /**
         * Workload
         * @description `replicas` identical tasks and everything the scheduler needs to know about them. `array`: an index for each
         *     task, such as `1-10`; `%2` after it is short for `concurrency: 2`. `restart: always`: a task that has ended starts
         *     again, with growing pauses, until the workload is cancelled. `function`: the function that each task calls; nodes
         *     without it are left out by `node_selector`, and `kind` is `function`.
         */
        Workload: {
            /**
             * Name
             * Format: name
             */
            name: string;
            /**
             * Namespace
             * Format: name
             * @default default
             */
            namespace: string;
            /**
             * User
             * @default null
             */
            user: string | null;
            /** Labels */
            labels?: {
                [key: string]: string | number | boolean;
            };
            /** @default medium */
            priority: components["schemas"]["Priority"];
            resources?: components["schemas"]["ResourceRequest"];
            limits?: components["schemas"]["Limits"];
            /** Node Selector */
            node_selector?: {
                [key: string]: string | number | boolean;
            };
            node_affinity?: components["schemas"]["NodeAffinity"];
            /** Tolerations */
            tolerations?: components["schemas"]["Toleration"][];
            /** Constraints */
            constraints?: components["schemas"]["Constraint"][];
            /** Policies */
            policies?: string[];
            /** Affinity */
            affinity?: components["schemas"]["Affinity"][];
            /** Spread */
            spread?: components["schemas"]["Spread"][];
            /** Conflicts */
            conflicts?: (components["schemas"]["ConflictSet"] | string)[];
            /** Traffic */
            traffic?: components["schemas"]["Traffic"][];
            backends?: components["schemas"]["BackendChoice"];
            /**
             * Prefer
             * @default null
             */
            prefer: components["schemas"]["PlacePreference"] | components["schemas"]["PreferenceWeights"] | null;
            /** Inputs */
            inputs?: components["schemas"]["DataInput"][];
            /**
             * Scheduler
             * @default null
             */
            scheduler: string | null;
            /**
             * Profile
             * @default null
             */
            profile: string | null;
            /**
             * Queue
             * @default null
             */
            queue: string | null;
            disruption?: components["schemas"]["Disruption"];
            run?: components["schemas"]["Run"];
            /** @default job */
            kind: components["schemas"]["WorkloadKind"];
            /** @default null */
            function: components["schemas"]["FunctionCall"] | null;
            /**
             * Service
             * @default null
             */
            service: string | null;
            /**
             * Replicas
             * @default 1
             */
            replicas: number;
            /**
             * Array
             * @default null
             */
            array: (string | number | boolean) | null;
            /** @default null */
            gang: components["schemas"]["Gang"] | null;
            /** Roles */
            roles?: components["schemas"]["RunRole"][];
            /** @default null */
            topology: components["schemas"]["Arrangement"] | null;
            /**
             * Concurrency
             * @default null
             */
            concurrency: number | null;
            /** After */
            after?: components["schemas"]["After"][];
            deadline?: components["schemas"]["Deadline"];
            /**
             * Retries
             * @default 0
             */
            retries: number;
            /** @default on_failure */
            restart: components["schemas"]["RestartPolicy"];
            /** @default null */
            vm: components["schemas"]["VirtualMachine"] | null;
        };
        /** WorkloadDetail */
        WorkloadDetail: {
            /** Pending */
            pending: number;
            /** Active */
            active: number;
            /** Succeeded */
            succeeded: number;
            /** Failed */
            failed: number;
            /** Cancelled */
            cancelled: number;
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Priority */
            priority: string;
            /** User */
            user: string | null;
            /** Service */
            service: string | null;
            /** Replicas */
            replicas: number;
            /** Submitted At */
            submitted_at: number;
            /** State */
            state: string;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Started At */
            started_at: number | null;
            /** Finished At */
            finished_at: number | null;
            /** Queue */
            queue: string | null;
            /** Ran S */
            ran_s: number;
            /** Running Since */
            running_since: number | null;
            /** Starts At */
            starts_at: number | null;
            /** Starts Early */
            starts_early: number | null;
            /** Starts Late */
            starts_late: number | null;
            /** Spec */
            spec: {
                [key: string]: unknown;
            };
            tasks: components["schemas"]["TaskCounts"];
            /** Placed At */
            placed_at: number | null;
            /** Bound At */
            bound_at: number | null;
        };
        /**
         * WorkloadKind
         * @enum {string}
         */
        WorkloadKind: "container" | "vm" | "job" | "function";
        /**
         * WorkloadPage
         * @description Newest first, or as sorted; `cursor` asks for the next page, None after the last. `total` of all pages, and
         *     `counts`: by state, whatever states were asked for; None where they were not counted.
         */
        WorkloadPage: {
            /** Items */
            items: components["schemas"]["WorkloadRow"][];
            /** Cursor */
            cursor: string | null;
            /** Total */
            total?: number | null;
            /** Counts */
            counts?: {
                [key: string]: number;
            } | null;
        };
        /**
         * WorkloadRow
         * @description A workload as lists show it.
         */
        WorkloadRow: {
            /** Pending */
            pending: number;
            /** Active */
            active: number;
            /** Succeeded */
            succeeded: number;
            /** Failed */
            failed: number;
            /** Cancelled */
            cancelled: number;
            /** Id */
            id: number;
            /** Namespace */
            namespace: string;
            /** Name */
            name: string;
            /** Kind */
            kind: string;
            /** Priority */
            priority: string;
            /** User */
            user: string | null;
            /** Service */
            service: string | null;
            /** Replicas */
            replicas: number;
            /** Submitted At */
            submitted_at: number;
            /** State */
            state: string;
            /** Reason */
            reason: string;
            /** Message */
            message: string;
            /** Started At */
            started_at: number | null;
            /** Finished At */
            finished_at: number | null;
            /** Queue */
            queue: string | null;
            /** Ran S */
            ran_s: number;
            /** Running Since */
            running_since: number | null;
        };
        /**
         * WrittenNote
         * @description A note as it stands in the history, and when.
         */
        WrittenNote: {
            /** At */
            at: number;
            /** Text */
            text: string;
        };
        /**
         * WrittenPiece
         * @description `content`: base64. `exit_code`, `error` or `unknown` (no such attempt runs) is the last.
         */
        WrittenPiece: {
            /** Number */
            number: number;
            /**
             * Content
             * @default
             */
            content: string;
            /**
             * Exit Code
             * @default null
             */
            exit_code: number | null;
            /**
             * Error
             * @default
             */
            error: string;
            /**
             * Unknown
             * @default false
             */
            unknown: boolean;
        };
        /**
         * NodeDistance
         * @description The symmetric distance of two nodes, 0 to 100.
         */
        dovetail__model__network__distance_list__NodeDistance: {
            /**
             * From
             * Format: node-name
             */
            from: string;
            /**
             * To
             * Format: node-name
             */
            to: string;
            /** Distance */
            distance: number;
        };
        /** NodeDistance */
        dovetail__responses__network__NodeDistance: {
            /** From */
            from: string;
            /** To */
            to: string;
            /** Distance */
            distance: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Schemas = components["schemas"];
