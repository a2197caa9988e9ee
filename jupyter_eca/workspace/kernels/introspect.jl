# Describes the variables of a Julia kernel. It prints JSON, needs only Julia's standard library, and defines nothing in
# Main. languages.py sends the whole file, and puts the requested names in place of ASKED. The limits are those of
# introspect.py, except that there is no time limit: Julia cannot end running code. So if the user defined the type of a
# value, or of a value inside of it, only the type is shown.
let
    preview_chars, sample_chars, sample_rows, max_columns = 200, 2000, 5, 50
    max_sampled, max_shown, max_variables, total_s = 20, 200, 1000, 1.0

    # The text, shortened to at most `most` characters.
    cut_to(text, most) = length(text) > most ? first(text, most - 1) * "…" : text

    # A value as JSON.
    json(value::Nothing) = "null"
    json(value::Integer) = string(value)
    json(value::Union{AbstractVector,Tuple}) = "[" * join(map(json, value), ",") * "]"
    json(value::AbstractDict) = "{" * join((json(String(key)) * ":" * json(one) for (key, one) in value), ",") * "}"
    function json(value::AbstractString)
        out = IOBuffer()
        print(out, '"')
        for c in value
            if c == '"' || c == '\\'
                print(out, '\\', c)
            elseif !isvalid(c)
                print(out, '\ufffd')
            elseif iscntrl(c)
                print(out, "\\u", string(UInt32(c); base=16, pad=4))
            else
                print(out, c)
            end
        end
        print(out, '"')
        String(take!(out))
    end

    # Whether Julia itself defines a type. A type is safe if Julia defines it and all its parameters: showing a value of
    # such a type runs no code of the user.
    is_builtin(type) = any(within -> parentmodule(type) === within, (Base, Core)) ||
        parentmodule(type) === parentmodule(Dict)
    is_safe(type::Type) = type isa DataType && is_builtin(type) && isconcretetype(type) &&
        all(is_safe_part, type.parameters)
    is_safe_part(parameter) = parameter isa Type ? is_safe(parameter) : true

    is_table(value) = nameof(typeof(value)) === :DataFrame && nameof(parentmodule(typeof(value))) === :DataFrames

    # A value as Julia shows it, in at most so many rows of 100 characters.
    show_as_text(value, rows) =
        sprint(show, MIME("text/plain"), value; context=(:limit => true, :displaysize => (rows, 100)))

    # Add the shape and the columns of a table to its description `about`. `rows` says whether the first rows are added.
    function add_table(about, value, rows)
        columns = first(names(value), max_columns)
        about["shape"] = collect(size(value))
        about["columns"] = [Dict("name" => one, "dtype" => string(eltype(value[!, one]))) for one in columns]
        if rows
            about["sample"] = cut_to(show_as_text(first(value, sample_rows), sample_rows + 10), sample_chars)
        end
    end

    # `detail` says how much is described. 0: only the type. 1: also shape and preview. 2: also the rows of tables.
    # 3: also the memory and more of the value.
    function describe_variable(name, value, detail)
        about = Dict{String,Any}("name" => String(name), "type" => string(typeof(value)))
        detail == 0 && return about
        try
            if is_table(value)
                add_table(about, value, detail >= 2)
            elseif is_safe(typeof(value)) || value isa Function
                if value isa AbstractArray
                    about["shape"], about["dtype"] = collect(size(value)), string(eltype(value))
                elseif value isa Union{AbstractString,AbstractDict,AbstractSet,Tuple}
                    about["length"] = length(value)
                end
                text = show_as_text(value isa AbstractString ? first(value, sample_chars) : value, detail == 3 ? 24 : 6)
                if detail == 3 && length(text) > preview_chars
                    about["sample"] = cut_to(text, sample_chars)
                else
                    about["preview"] = cut_to(text, preview_chars)
                end
                if detail == 3 && is_safe(typeof(value))
                    about["memory"] = Base.summarysize(value)
                end
            end
        catch error
            about["preview"] = "(cannot be shown: " * string(typeof(error)) * ")"
        end
        about
    end

    # Whether the user made the variable with this name.
    is_users_own(name) = isdefined(Main, name) && !startswith(String(name), "#") && !startswith(String(name), "_") &&
        name ∉ (:ans, :In, :Out, :Base, :Core, :Main, :eval, :include) && !(getglobal(Main, name) isa Module)

    function variables(requested)
        wanted = isempty(requested) ? filter(is_users_own, names(Main; all=true)) : Symbol.(requested)
        existing = filter(name -> isdefined(Main, name), wanted)
        listed = first(existing, max_variables)
        until = time() + total_s
        found = map(enumerate(listed)) do (place, name)
            late = time() > until || place > max_shown
            detail = late ? 0 : !isempty(requested) ? 3 : place <= max_sampled ? 2 : 1
            describe_variable(name, getglobal(Main, name), detail)
        end
        missing_names = [String(name) for name in wanted if name ∉ existing]
        Dict("variables" => found, "missing" => missing_names, "left_out" => length(existing) - length(listed))
    end

    print(json(variables(String[ASKED])))
end;
